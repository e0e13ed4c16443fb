rule profile_engine:
    input:
        code=code("scripts/profile_engine.py"),
    output:
        rounds="results/schedule/{cluster}/{trace}/rounds.json",
    log:
        "logs/engine/{cluster}/{trace}.log",
    threads: every_core
    resources:
        mem_mb=growing(8000),
        runtime=growing(60),
        gpu=0,
    params:
        cfg=given(STAGES["schedule"].of_trace),
    shell:
        python("profile_engine.py")
        + " --config {params.cfg:q} --output {output.rounds:q}"
        " > {log:q} 2>&1"


rule make_trace:
    input:
        rounds=round_times,
        # What the chain measured of the workloads that the trace's classes name.
        verify_runs=STAGES["schedule"].debloated("verify_runs.parquet"),
        libraries=STAGES["schedule"].debloated("libraries.parquet"),
        files=STAGES["schedule"].recorded,
        code=code("scripts/make_trace.py"),
    output:
        trace="results/schedule/{cluster}/{trace}/trace.parquet",
        facts="results/schedule/{cluster}/{trace}/trace.json",
    log:
        "logs/schedule/{cluster}/{trace}.log",
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
        gpu=0,
    params:
        cfg=given(STAGES["schedule"].of_trace),
    shell:
        python("make_trace.py")
        + " --config {params.cfg:q} --rounds {input.rounds:q} --verify-runs {input.verify_runs:q} --libraries {input.libraries:q}"
        " --output $(dirname {output.trace:q}) > {log:q} 2>&1"


rule simulate:
    input:
        trace=rules.make_trace.output.trace,
        facts=rules.make_trace.output.facts,
        code=code("scripts/simulate.py", "native/cluster_simulator/*.[ch]"),
    output:
        summary="results/schedule/{cluster}/{trace}/{policy}/summary.json",
        jobs="results/schedule/{cluster}/{trace}/{policy}/jobs.parquet",
        allocations="results/schedule/{cluster}/{trace}/{policy}/allocations.parquet",
        nodes="results/schedule/{cluster}/{trace}/{policy}/nodes.parquet",
        load="results/schedule/{cluster}/{trace}/{policy}/load.parquet",
    log:
        "logs/schedule/{cluster}/{trace}/{policy}.log",
    benchmark:
        "results/benchmarks/schedule/{cluster}/{trace}/{policy}.tsv"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        gpu=0,
    params:
        cfg=given(STAGES["schedule"].given),
    shell:
        python("simulate.py") + " --config {params.cfg:q} --trace {input.trace:q}"
        " --facts {input.facts:q} --output $(dirname {output.summary:q}) > {log:q} 2>&1"


rule calculate:
    input:
        trace=rules.make_trace.output.trace,
        facts=rules.make_trace.output.facts,
        code=code("scripts/calculate.py"),
    output:
        "results/schedule/{cluster}/{trace}/{policy}/formula.json",
    log:
        "logs/calculate/{cluster}/{trace}/{policy}.log",
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
        gpu=0,
    params:
        cfg=given(STAGES["schedule"].given),
    shell:
        python("calculate.py") + " --config {params.cfg:q} --trace {input.trace:q}"
        " --facts {input.facts:q} --output {output:q} > {log:q} 2>&1"


rule deflate:
    input:
        trace=rules.make_trace.output.trace,
        facts=rules.make_trace.output.facts,
        code=code("scripts/deflate.py", "native/cluster_simulator/*.[ch]"),
    output:
        "results/schedule/{cluster}/{trace}/deflator_{objective}.json",
    log:
        "logs/deflate/{cluster}/{trace}/{objective}.log",
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
        gpu=0,
    params:
        cfg=given(STAGES["schedule"].deflate),
    shell:
        python("deflate.py") + " --config {params.cfg:q} --trace {input.trace:q}"
        " --facts {input.facts:q} --output {output:q} > {log:q} 2>&1"


rule run_for_real:
    input:
        trace=rules.make_trace.output.trace,
        facts=rules.make_trace.output.facts,
        simulated=rules.simulate.output.jobs,
        code=code("scripts/run_for_real.py"),
    output:
        real="results/schedule/{cluster}/{trace}/{policy}/real.json",
        jobs="results/schedule/{cluster}/{trace}/{policy}/real.parquet",
    log:
        "logs/real/{cluster}/{trace}/{policy}.log",
    threads: every_core
    resources:
        mem_mb=growing(8000),
        runtime=growing(120),
        gpu=0,
    params:
        cfg=given(STAGES["schedule"].real),
    shell:
        python("run_for_real.py") + " --config {params.cfg:q} --trace {input.trace:q}"
        " --facts {input.facts:q} --simulated {input.simulated:q} --output $(dirname {output.real:q}) > {log:q} 2>&1"
