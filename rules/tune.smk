rule tune_workload:
    input:
        program=programs,
        code=code("scripts/tune_workload.py", "src/trimtab/tuning/tuners/*.py"),
    output:
        trials="results/tune/{tuner}/{workload}/{hardware}/{objective}/trials.parquet",
        best="results/tune/{tuner}/{workload}/{hardware}/{objective}/best.yaml",
    log:
        "logs/tune/{tuner}/{workload}/{hardware}/{objective}.log",
    benchmark:
        "results/benchmarks/tune/{tuner}/{workload}/{hardware}/{objective}.tsv"
    threads: EVERY_CORE
    resources:
        mem_mb=lambda wildcards: memory_mb(
            [CONFIG.option("workload", wildcards.workload)]
        ),
        runtime=240,
        gpu=gpus,
    params:
        cfg=lambda wildcards: dump(
            stages.TuneStage(
                workload=CONFIG.option("workload", wildcards.workload),
                hardware=CONFIG.option("hardware", wildcards.hardware),
                tuner=CONFIG.option("tuner", wildcards.tuner),
                objective=CONFIG.option("objective", wildcards.objective),
                seeds=EXPERIMENT.tune.seeds,
                workers=EXPERIMENT.tune.workers,
                inference_workload=CONFIG.inference_workload(wildcards.workload),
                inference_hardware=CONFIG.inference_hardware(wildcards.workload),
            )
        ),
    shell:
        "exec python scripts/tune_workload.py --config {params.cfg:q}"
        " --output $(dirname {output.trials:q}) > {log:q} 2>&1"
