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
        cfg=lambda wildcards: configured(
            stages.ResolvedConfig(
                experiment=EXPERIMENT,
                workloads=every_workload(),
                hardware=CONFIG.options("hardware", machines()),
                policies=policies(),
                tuners=CONFIG.options("tuner", EXPERIMENT.tune.tuners),
                task_programs=CONFIG.options(
                    "task_program", EXPERIMENT.protect.programs
                ),
                debloat=CONFIG.root.debloat,
                profiling=CONFIG.root.profiling,
                settle=CONFIG.root.settle,
                verify=CONFIG.root.verify,
                clusters=CONFIG.options("cluster", EXPERIMENT.schedule.clusters),
                traces=CONFIG.options("trace", EXPERIMENT.schedule.traces),
                objectives=CONFIG.options(
                    "objective",
                    [*EXPERIMENT.schedule.objectives, *tuned_objectives()],
                ),
            )
        ),
    shell:
        python("resolved_config.py")
        + " --config {params.cfg:q} --output {output.config:q}"
        " > {log:q} 2>&1"


rule evaluate_experiment:
    input:
        usages=profiles("usage.json"),
        runs=profiles("runs.parquet"),
        epochs=profiles("epochs.parquet"),
        manifests=targets("manifest.json"),
        libraries=targets("libraries.parquet"),
        used=targets("used.json"),
        weights=targets("environment.json"),
        compressed=targets("compressed.json"),
        files=targets("files.parquet"),
        fleets=fleets(),
        verdicts=targets("verify.json"),
        verify_runs=targets("verify_runs.parquet"),
        summaries=cells("summary.json"),
        jobs=cells("jobs.parquet"),
        allocations=cells("allocations.parquet"),
        nodes=cells("nodes.parquet"),
        load=cells("load.parquet"),
        formulas=cells("formula.json") if EXPERIMENT.schedule.formula else [],
        real=cells("real.json") if EXPERIMENT.schedule.real else [],
        traces=traces("trace.json"),
        deflators=deflators(),
        tunings=tunings("trials.parquet"),
        alone=inference_alone(),
        growths=growths(),
        characterizations=characterized("runs.parquet"),
        protected=protected("runs.parquet"),
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
        cfg=lambda wildcards: configured(
            stages.EvaluateStage(
                experiment=EXPERIMENT,
                workloads=every_workload(),
                hardware=CONFIG.options("hardware", machines()),
                policies=policies(),
                tuners=CONFIG.options("tuner", EXPERIMENT.tune.tuners),
                task_programs=CONFIG.options(
                    "task_program", EXPERIMENT.protect.programs
                ),
            )
        ),
    shell:
        python("evaluate_experiment.py") + " --config {params.cfg:q}"
        " --usages {input.usages:q} --manifests {input.manifests:q}"
        " --summaries {input.summaries:q} --traces {input.traces:q} --deflators {input.deflators:q}"
        " --tunings {input.tunings:q} --growths {input.growths:q} --fleets {input.fleets:q}"
        " --characterizations {input.characterizations:q} --protected {input.protected:q}"
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
