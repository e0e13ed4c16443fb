rule protect_program:
    input:
        code=code(
            "scripts/protect.py", "src/trimtab/secure_tasks/simulation/policies/*.py"
        ),
        programs=lambda wildcards: named_programs(
            CONFIG.option("task_program", wildcards.task_program).network
        ),
    output:
        runs="results/protect/{task_program}/{hardware}/runs.parquet",
    log:
        "logs/protect/{task_program}/{hardware}.log",
    benchmark:
        "results/benchmarks/protect/{task_program}/{hardware}.tsv"
    threads: every_core
    resources:
        mem_mb=growing(4000),
        runtime=growing(6 * 60),
        gpu=0,
    params:
        cfg=given(STAGES["protect"].given),
    shell:
        python("protect.py") + " --config {params.cfg:q}"
        " --output $(dirname {output.runs:q}) > {log:q} 2>&1"
