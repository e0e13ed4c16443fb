rule profile_workload:
    input:
        programs=programs,
        image=image_of,
        read_files=read_files,
        code=code(
            "scripts/profile_workload.py",
            "src/trimtab/profiling/meters/*.py",
            "native/**/*.[ch]",
        ),
    output:
        usage="results/profile/{workload}/{hardware}/usage.json",
        runs="results/profile/{workload}/{hardware}/runs.parquet",
        epochs="results/profile/{workload}/{hardware}/epochs.parquet",
        read_files="results/profile/{workload}/{hardware}/read_files.json",
    log:
        "logs/profile/{workload}/{hardware}.log",
    benchmark:
        "results/benchmarks/profile/{workload}/{hardware}.tsv"
    threads: every_core
    resources:
        mem_mb=growing(memory_of_workload),
        runtime=growing(profiled_min),
        gpu=gpus,
    params:
        cfg=given(STAGES["profile"].given),
    shell:
        python("profile_workload.py", as_the_user=True) + " --config {params.cfg:q}"
        " --changed-files {input.read_files:q} --output $(dirname {output.usage:q}) > {log:q} 2>&1"
