FALLBACKS = (  # what brings removed code back, which environments hold
    "native/fallback/*.[ch]",
    "native/signal_stacks/*.[ch]",
    "native/file_fallback/*.[ch]",
    "native/python_module/*.c",
    "native/kernel_call/*.h",
    "native/snapshot/machine.h",
    "native/digest/*.[ch]",
    "native/store/*.c",
)


rule debloat_target:
    input:
        usages=STAGES["debloat"].usages,
        learned=STAGES["debloat"].learned,
        code=code(
            "scripts/debloat_target.py",
            "src/trimtab/profiling/meters/*.py",
            *FALLBACKS,
        ),
    output:
        manifest="results/debloat/{target}/{hardware}/manifest.json",
        table="results/debloat/{target}/{hardware}/libraries.parquet",
        files="results/debloat/{target}/{hardware}/files.parquet",
        spans=directory("results/debloat/{target}/{hardware}/spans"),
        used="results/debloat/{target}/{hardware}/used.json",
        byte_code="results/debloat/{target}/{hardware}/byte_code.json",
        settling="results/debloat/{target}/{hardware}/settling.json",
        stage="results/debloat/{target}/{hardware}/stage.json",
        # The environment has them, as the same files.
        libraries=temp(directory("results/debloat/{target}/{hardware}/libraries")),
    log:
        "logs/debloat/{target}/{hardware}.log",
    benchmark:
        "results/benchmarks/debloat/{target}/{hardware}.tsv"
    # It runs the workloads, beside nothing else.
    threads: every_core
    resources:
        mem_mb=growing(memory_of_target),
        runtime=growing(settled_min),
        gpu=gpus,
    params:
        cfg=given(STAGES["debloat"].given),
    shell:
        python("debloat_target.py", as_the_user=True) + " --config {params.cfg:q}"
        " --usages {input.usages:q}"
        " --output $(dirname {output.manifest:q}) > {log:q} 2>&1"


rule build_environment:
    input:
        libraries=rules.debloat_target.output.libraries,
        manifest=rules.debloat_target.output.manifest,
        files=rules.debloat_target.output.files,
        stage=rules.debloat_target.output.stage,
        byte_code=rules.debloat_target.output.byte_code,
        # The spans lie beside the manifest, and are no input: a folder has no checksum.
        code=code("scripts/build_environment.py", *FALLBACKS),
    output:
        environment=directory("results/debloat/{target}/{hardware}/env"),
        weight="results/debloat/{target}/{hardware}/environment.json",
    log:
        "logs/environment/{target}/{hardware}.log",
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(30),
        gpu=0,
    params:
        cfg=given(STAGES["debloat"].environment),
    shell:
        python("build_environment.py") + " --config {params.cfg:q}"
        " --manifest {input.manifest:q} --output {output.environment:q} > {log:q} 2>&1"


rule verify_environment:
    input:
        environment=rules.build_environment.output.environment,
        weight=rules.build_environment.output.weight,
        manifest=rules.debloat_target.output.manifest,
        settling=rules.debloat_target.output.settling,
        code=code(
            "scripts/verify_environment.py",
            "src/trimtab/profiling/meters/*.py",
            "native/**/*.[ch]",
        ),
    output:
        verdict="results/debloat/{target}/{hardware}/verify.json",
        runs="results/debloat/{target}/{hardware}/verify_runs.parquet",
    log:
        "logs/verify/{target}/{hardware}.log",
    benchmark:
        "results/benchmarks/verify/{target}/{hardware}.tsv"
    threads: every_core
    resources:
        mem_mb=growing(memory_of_target),
        runtime=growing(verified_min),
        gpu=gpus,
    params:
        cfg=given(STAGES["debloat"].verify),
    shell:
        python("verify_environment.py", as_the_user=True) + " --config {params.cfg:q}"
        " --environment {input.environment:q} --manifest {input.manifest:q}"
        " --output $(dirname {output.verdict:q}) > {log:q} 2>&1"


rule weigh_environment:
    input:
        environment=rules.build_environment.output.environment,
        weight=rules.build_environment.output.weight,
        manifest=rules.debloat_target.output.manifest,
        # Nothing is compressed beside what verification measures; what it says changes no weight.
        verified=ancient(rules.verify_environment.output.verdict),
        code=code("scripts/weigh_environment.py"),
    output:
        compressed="results/debloat/{target}/{hardware}/compressed.json",
    log:
        "logs/weight/{target}/{hardware}.log",
    threads: 2
    resources:
        mem_mb=growing(1000),
        runtime=growing(30),
        gpu=0,
    shell:
        python("weigh_environment.py") + " --environment {input.environment:q}"
        " --manifest {input.manifest:q} --threads {threads}"
        " --output {output.compressed:q} > {log:q} 2>&1"


include: "starts.smk"
