# Of the stage debloat: snapshots of the programs' starts.
rule save_start:
    input:
        environment=rules.build_environment.output.environment,
        # What verifies and weighs the environment removes its snapshots, to measure it without.
        verified=rules.verify_environment.output.verdict,
        compressed=rules.weigh_environment.output.compressed,
        code=code(
            "scripts/save_start.py",
            "src/trimtab/debloating/snapshots/*.py",
            "src/trimtab/profiling/meters/*.py",
            "native/snapshot/*.[ch]",
        ),
    output:
        start="results/debloat/{target}/{hardware}/start.json",
    log:
        "logs/start/{target}/{hardware}.log",
    threads: every_core
    resources:
        mem_mb=growing(memory_of_target),
        runtime=growing(saved_min),
        gpu=gpus,
    params:
        cfg=given(STAGES["debloat"].start),
    shell:
        python("save_start.py", as_the_user=True) + " --config {params.cfg:q}"
        " --environment {input.environment:q}"
        " --output $(dirname {output.start:q}) > {log:q} 2>&1"
