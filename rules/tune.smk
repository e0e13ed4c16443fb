rule tune_on_machine:
    input:
        program=programs,
        code=code("scripts/tune_on_machine.py", "src/trimtab/tuning/tuners/*.py"),
        before=STAGES["tune"].searched_before,
        characterized=STAGES["tune"].characterized_before,
    output:
        done="results/tune/{tuner}/{workload}/{hardware}/{objective}/machines/seed_{seed}_{machine}.json",
    log:
        "logs/tune/{tuner}/{workload}/{hardware}/{objective}/seed_{seed}_{machine}.log",
    benchmark:
        "results/benchmarks/tune/{tuner}/{workload}/{hardware}/{objective}/seed_{seed}_{machine}.tsv"
    threads: every_core
    resources:
        mem_mb=growing(memory_of_workload),
        runtime=growing(searched_min),
        gpu=gpus,
    params:
        cfg=given(STAGES["tune"].given),
    shell:
        python("tune_on_machine.py") + " --config {params.cfg:q}"
        " --seed {wildcards.seed} --machine {wildcards.machine}"
        " --output {output.done:q} > {log:q} 2>&1"


# Where machines have searched, what is left is to write down what they have found.
rule tune_workload:
    input:
        program=programs,
        code=code("scripts/tune_workload.py", "src/trimtab/tuning/tuners/*.py"),
        before=STAGES["tune"].searched_before,
        characterized=STAGES["tune"].characterized_before,
        searched=STAGES["tune"].on_machines,
    output:
        trials="results/tune/{tuner}/{workload}/{hardware}/{objective}/trials.parquet",
        best="results/tune/{tuner}/{workload}/{hardware}/{objective}/best.yaml",
    log:
        "logs/tune/{tuner}/{workload}/{hardware}/{objective}.log",
    benchmark:
        "results/benchmarks/tune/{tuner}/{workload}/{hardware}/{objective}.tsv"
    threads: every_core
    resources:
        mem_mb=growing(memory_of_workload),
        runtime=growing(tuned_min),
        gpu=gpus,
    params:
        cfg=given(STAGES["tune"].all_seeds),
    shell:
        python("tune_workload.py") + " --config {params.cfg:q}"
        " --output $(dirname {output.trials:q}) > {log:q} 2>&1"


# What the inference tuning server told, against what it takes when nothing runs beside it.
rule measure_inference_alone:
    input:
        code=code("scripts/measure_inference_alone.py"),
        trials=rules.tune_workload.output.trials,
    output:
        "results/tune/{tuner}/{workload}/{hardware}/{objective}/inference_alone.parquet",
    log:
        "logs/tune/{tuner}/{workload}/{hardware}/{objective}/inference_alone.log",
    threads: every_core
    resources:
        mem_mb=growing(memory_of_workload),
        runtime=growing(measured_alone_min),
        gpu=gpus,
    params:
        cfg=given(STAGES["tune"].given),
    shell:
        python("measure_inference_alone.py") + " --config {params.cfg:q}"
        " --output {output:q} > {log:q} 2>&1"
