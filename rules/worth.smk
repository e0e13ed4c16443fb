rule weigh:
    input:
        trace="results/schedule/{cluster}/{trace}/trace.parquet",
        facts="results/schedule/{cluster}/{trace}/trace.json",
        environments=STAGES["worth"].environments,
        measured=STAGES["worth"].measured,
        searches=STAGES["worth"].searches,
        code=code("scripts/weigh.py", "native/batch_queues/*.[ch]"),
    output:
        worth="results/worth/{cluster}/{trace}/{queue_policy}/worth.json",
        replications="results/worth/{cluster}/{trace}/{queue_policy}/replications.parquet",
    log:
        "logs/worth/{cluster}/{trace}/{queue_policy}.log",
    benchmark:
        "results/benchmarks/worth/{cluster}/{trace}/{queue_policy}.tsv"
    threads: 2
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        gpu=0,
    params:
        cfg=given(STAGES["worth"].given),
    shell:
        python("weigh.py") + " --config {params.cfg:q} --trace {input.trace:q}"
        " --facts {input.facts:q} --environments {input.environments:q}"
        " --searches {input.searches:q} --output $(dirname {output.worth:q}) > {log:q} 2>&1"
