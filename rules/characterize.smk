rule characterize:
    input:
        code=code("scripts/characterize.py"),
    output:
        runs="results/characterize/{characterization}/{hardware}/runs.parquet",
    log:
        "logs/characterize/{characterization}/{hardware}.log",
    benchmark:
        "results/benchmarks/characterize/{characterization}/{hardware}.tsv"
    threads: EVERY_CORE
    resources:
        mem_mb=8000,
        runtime=24 * 60,
        gpu=0,
    params:
        cfg=lambda wildcards: dump(characterize_stage(wildcards)),
    shell:
        python("characterize.py") + " --config {params.cfg:q}"
        " --output $(dirname {output.runs:q}) > {log:q} 2>&1"
