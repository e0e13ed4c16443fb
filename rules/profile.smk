rule profile_workload:
    input:
        programs=programs,
        image=image_of,
        code=code(
            "scripts/profile_workload.py",
            "src/trimtab/profiling/meters/*.py",
            "native/**/*.[ch]",
        ),
    output:
        usage="results/profile/{workload}/{hardware}/usage.json",
        runs="results/profile/{workload}/{hardware}/runs.parquet",
        epochs="results/profile/{workload}/{hardware}/epochs.parquet",
    log:
        "logs/profile/{workload}/{hardware}.log",
    benchmark:
        "results/benchmarks/profile/{workload}/{hardware}.tsv"
    threads: EVERY_CORE
    resources:
        mem_mb=lambda wildcards: memory_mb(
            [CONFIG.option("workload", wildcards.workload)]
        ),
        runtime=profiled_min,
        gpu=gpus,
    params:
        cfg=lambda wildcards: dump(
            stages.ProfileStage(
                workload=CONFIG.option("workload", wildcards.workload),
                hardware=CONFIG.option("hardware", wildcards.hardware),
                profiling=CONFIG.root.profiling,
            )
        ),
    shell:
        python("profile_workload.py", as_the_user=True) + " --config {params.cfg:q}"
        " --output $(dirname {output.usage:q}) > {log:q} 2>&1"
