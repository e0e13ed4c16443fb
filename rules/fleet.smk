rule share_images:
    input:
        # The slim image of each target lies beside its environment.
        environments=STAGES["debloat"].of_fleet("environment.json"),
        manifests=STAGES["debloat"].of_fleet("manifest.json"),
        usages=STAGES["fleet"].usages,
        code=code("scripts/share_images.py"),
    output:
        fleet="results/fleet/{fleet}/{hardware}/fleet.json",
    log:
        "logs/fleet/{fleet}/{hardware}.log",
    benchmark:
        "results/benchmarks/fleet/{fleet}/{hardware}.tsv"
    threads: every_core
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        gpu=0,
    params:
        cfg=given(STAGES["fleet"].given),
    shell:
        python("share_images.py") + " --config {params.cfg:q}"
        " --manifests {input.manifests:q} --usages {input.usages:q}"
        " --output $(dirname {output.fleet:q}) > {log:q} 2>&1"
