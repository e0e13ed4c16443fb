rule characterize:
    input:
        code=code("scripts/characterize.py"),
    output:
        runs="results/characterize/{characterization}/{hardware}/runs.parquet",
    log:
        "logs/characterize/{characterization}/{hardware}.log",
    benchmark:
        "results/benchmarks/characterize/{characterization}/{hardware}.tsv"
    threads: every_core
    resources:
        mem_mb=growing(8000),
        runtime=growing(24 * 60),
        gpu=0,
    params:
        cfg=given(STAGES["characterize"].given),
    shell:
        python("characterize.py") + " --config {params.cfg:q}"
        " --output $(dirname {output.runs:q}) > {log:q} 2>&1"
