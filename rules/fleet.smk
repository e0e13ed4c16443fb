rule share_images:
    input:
        # The slim image of each target lies beside its environment.
        environments=of_fleet(rules.build_environment.output.weight),
        manifests=of_fleet(rules.debloat_target.output.manifest),
        usages=lambda wildcards: expand(
            rules.profile_workload.output.usage,
            workload=[
                workload
                for target in EXPERIMENT.fleets[wildcards.fleet]
                for workload in EXPERIMENT.targets[target]
            ],
            hardware=wildcards.hardware,
        ),
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
        cfg=lambda wildcards: configured(
            stages.FleetStage(targets=fleet_targets(wildcards.fleet))
        ),
    shell:
        python("share_images.py") + " --config {params.cfg:q}"
        " --manifests {input.manifests:q} --usages {input.usages:q}"
        " --output $(dirname {output.fleet:q}) > {log:q} 2>&1"
