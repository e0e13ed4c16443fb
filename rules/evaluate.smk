localrules:
    headlines,
    resolved_config,


rule resolved_config:
    input:
        code=code("scripts/resolved_config.py"),
    output:
        config="results/config.yaml",
    log:
        "logs/resolved_config.log",
    params:
        cfg=given(
            lambda wildcards: stages.ResolvedConfig(
                experiment=EXPERIMENT,
                options=options_of(STAGES.values(), CONFIG, whole=True),
                debloat=CONFIG.root.debloat,
                profiling=CONFIG.root.profiling,
                settle=CONFIG.root.settle,
                verify=CONFIG.root.verify,
            )
        ),
    shell:
        python("resolved_config.py")
        + " --config {params.cfg:q} --output {output.config:q}"
        " > {log:q} 2>&1"


rule evaluate_experiment:
    input:
        **{name: stage.results() for name, stage in STAGES.items()},
        code=code(
            "scripts/evaluate_experiment.py",
            "src/trimtab/evaluation/**/*.py",
            "src/trimtab/evaluation/published/*/*",
            "src/trimtab/evaluation/tuning/*.yaml",
            "src/trimtab/evaluation/templates/*",
        ),
    output:
        report=report(
            f"results/evaluate/{EXPERIMENT.name}/report.html",
            caption="captions/report.rst",
            category="Evaluation",
            labels={"what": "report"},
        ),
        metrics=f"results/evaluate/{EXPERIMENT.name}/metrics.json",
        outcome=f"results/evaluate/{EXPERIMENT.name}/outcome.json",
        tables=report(
            directory(f"results/evaluate/{EXPERIMENT.name}/tables"),
            patterns=["{table}.csv"],
            caption="captions/table.rst",
            category="Tables",
            labels={"what": "{table}"},
        ),
        figures=report(
            directory(f"results/evaluate/{EXPERIMENT.name}/figures"),
            patterns=["{figure}.svg"],
            caption="captions/figure.rst",
            category="Figures",
            labels={"what": "{figure}"},
        ),
    log:
        f"logs/evaluate/{EXPERIMENT.name}.log",
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
        gpu=0,
    params:
        cfg=given(
            lambda wildcards: stages.EvaluateStage(
                EXPERIMENT, options_of(STAGES.values(), CONFIG, whole=False)
            )
        ),
        manifest=lambda wildcards, input: write_manifest(
            {stage: list(input.get(stage)) for stage in STAGES}
        ),
    shell:
        python("evaluate_experiment.py")
        + " --config {params.cfg:q} --manifest {params.manifest:q}"
        " --output $(dirname {output.report:q}) > {log:q} 2>&1"


rule headlines:
    input:
        metrics=rules.evaluate_experiment.output.metrics,
        code=code("scripts/headlines.py"),
    output:
        # A folder each for all experiments: DVC compares what is in it.
        metrics=f"results/metrics/{EXPERIMENT.name}.json",
        charts=directory(f"results/plots/{EXPERIMENT.name}"),
    log:
        f"logs/headlines/{EXPERIMENT.name}.log",
    shell:
        python("headlines.py") + " --evaluated $(dirname {input.metrics:q})"
        " --metrics {output.metrics:q} --charts {output.charts:q} > {log:q} 2>&1"
