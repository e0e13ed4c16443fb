rule measure_growth:
    input:
        code=code("scripts/measure_growth.py"),
    output:
        lines="results/growth/{code_base}/lines.parquet",
    log:
        "logs/growth/{code_base}.log",
    benchmark:
        "results/benchmarks/growth/{code_base}.tsv"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(240),
        gpu=0,
    params:
        cfg=given(STAGES["growth"].given),
    shell:
        python("measure_growth.py") + " --config {params.cfg:q}"
        " --output $(dirname {output.lines:q}) > {log:q} 2>&1"
