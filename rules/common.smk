from dataclasses import replace
from pathlib import Path

from trimtab.config import stages
from trimtab.errors import UserError
from trimtab.workflow.configured import configured


def learned(wildcards):
    """What `trimtab advanced learn` found in the environment of a target, where it did."""
    path = f"results/debloat/{wildcards.target}/{wildcards.hardware}/learned.json"
    return [path] if Path(path).exists() else []


def profiles(file):
    """A file of the stage `profile`, for every cell of the experiment."""
    return expand(
        f"results/profile/{{workload}}/{{hardware}}/{file}",
        workload=EXPERIMENT.workloads,
        hardware=EXPERIMENT.hardware,
    )


def targets(file):
    """A file of the stage `debloat`, for every cell of the experiment."""
    return expand(
        f"results/debloat/{{target}}/{{hardware}}/{file}",
        target=EXPERIMENT.targets,
        hardware=EXPERIMENT.hardware,
    )


def of_fleet(file):
    """A file of the stage `debloat`, by its pattern, for every target of a fleet."""

    def files(wildcards):
        return expand(
            file,
            target=EXPERIMENT.fleets[wildcards.fleet],
            hardware=wildcards.hardware,
        )

    return files


def fleet_targets(fleet):
    """The targets of a fleet, each with its workloads."""
    return {name: EXPERIMENT.targets[name] for name in EXPERIMENT.fleets[fleet]}


def fleets():
    """What the experiment's fleets pull and store."""
    return expand(
        "results/fleet/{fleet}/{hardware}/fleet.json",
        fleet=EXPERIMENT.fleets,
        hardware=EXPERIMENT.hardware,
    )


def tunings(file):
    """A file of the stage `tune`, for every cell of the experiment."""
    return expand(
        f"results/tune/{{tuner}}/{{workload}}/{{hardware}}/{{objective}}/{file}",
        tuner=EXPERIMENT.tune.tuners,
        workload=EXPERIMENT.tune.workloads,
        hardware=EXPERIMENT.hardware,
        objective=EXPERIMENT.tune.objectives,
    )


def inference_alone():
    """What using models costs alone, for every cell, where the experiment wants it."""
    return tunings("inference_alone.parquet") if EXPERIMENT.tune.inference_alone else []


def searched_before(wildcards):
    """The searches that a cell's tuner begins with the ground truth of, where it names some."""
    before = CONFIG.option("tuner", wildcards.tuner).after
    if before is None:
        return []
    cell = f"{wildcards.workload}/{wildcards.hardware}/{wildcards.objective}"
    return [f"results/tune/{before}/{cell}/trials.parquet"]


def characterized_before(wildcards):
    """The runs that show which of a workload's parameters matter, where it names some."""
    tuning = CONFIG.option("workload", wildcards.workload).tuning
    there = tuning is not None and tuning.characterized is not None
    return [tuning.characterized.runs] if there else []


def searched_on_machines(wildcards):
    """What the machines that share a cell's searches leave; nothing, where one does it all."""
    if EXPERIMENT.tune.machines == 1:
        return []
    return expand(
        rules.tune_on_machine.output.done,
        **wildcards,
        seed=range(1, EXPERIMENT.tune.seeds + 1),
        machine=range(1, EXPERIMENT.tune.machines + 1),
    )


def cells(file):
    """A file of the stage `schedule`, for every cell of the experiment."""
    return expand(
        f"results/schedule/{{cluster}}/{{trace}}/{{policy}}/{file}",
        cluster=EXPERIMENT.schedule.clusters,
        trace=EXPERIMENT.schedule.traces,
        policy=EXPERIMENT.schedule.policies,
    )


def traces(file):
    """A file of the stage `schedule`, for every cluster and trace of the experiment."""
    return expand(
        f"results/schedule/{{cluster}}/{{trace}}/{file}",
        cluster=EXPERIMENT.schedule.clusters,
        trace=EXPERIMENT.schedule.traces,
    )


def deflators():
    """What the deflator found, for every cluster, trace and objective of the experiment."""
    return [
        file
        for objective in EXPERIMENT.schedule.objectives
        for file in traces(f"deflator_{objective}.json")
    ]


def debloated(file):
    """What the stage `debloat` says of the workloads that a trace's classes name."""

    def files(wildcards):
        return expand(
            f"results/debloat/{{target}}/{{hardware}}/{file}",
            target=[target_of(name) for name in named_workloads(wildcards.trace)],
            hardware=EXPERIMENT.hardware[:1],
        )

    return files


def named_workloads(trace):
    """The workloads that the classes of a trace name, each once."""
    classes = CONFIG.option("trace", trace).classes.values()
    return list(dict.fromkeys(facts.workload for facts in classes if facts.workload))


def target_of(workload):
    """The first target of the experiment that keeps what `workload` uses."""
    return next(
        target for target, names in EXPERIMENT.targets.items() if workload in names
    )


def trace_stage(wildcards):
    cluster = CONFIG.option("cluster", wildcards.cluster)
    return stages.TraceStage(
        cluster=cluster,
        hardware=CONFIG.options("hardware", cluster.nodes),
        trace=CONFIG.trace(wildcards.trace),
        enclaves=CONFIG.enclaves(wildcards.cluster, wildcards.trace),
    )


def schedule_stage(wildcards):
    return stages.ScheduleStage(
        **vars(trace_stage(wildcards)),
        policy=CONFIG.option("policy", wildcards.policy),
        replications=EXPERIMENT.schedule.replications,
        baseline=wildcards.policy == EXPERIMENT.schedule.baseline_policy,
    )


def tune_stage(wildcards, seeds=1):
    return stages.TuneStage(
        workload=CONFIG.option("workload", wildcards.workload),
        hardware=CONFIG.option("hardware", wildcards.hardware),
        tuner=CONFIG.option("tuner", wildcards.tuner),
        objective=CONFIG.option("objective", wildcards.objective),
        seeds=seeds,
        workers=EXPERIMENT.tune.workers,
        machines=EXPERIMENT.tune.machines,
        database=EXPERIMENT.tune.database,
        inference_workload=CONFIG.inference_workload(wildcards.workload),
        inference_hardware=CONFIG.inference_hardware(wildcards.workload),
    )


def deflate_stage(wildcards):
    return stages.DeflateStage(
        **vars(trace_stage(wildcards)),
        objective=CONFIG.option("objective", wildcards.objective),
    )


def real_stage(wildcards):
    return stages.RealStage(
        **vars(schedule_stage(wildcards)),
        platform=EXPERIMENT.schedule.real,
        scale=EXPERIMENT.schedule.real_scale,
    )


def growth_stage(wildcards):
    """A code base, and the commit that its revision names now: a later one is counted anew."""
    from trimtab.growth.history import open_repository, tip_of

    code_base = CONFIG.option("code_base", wildcards.code_base)
    try:
        tip = tip_of(open_repository(Path(code_base.location)), code_base.revision)
    except UserError as error:
        raise WorkflowError(visible(str(error)))
    return stages.GrowthStage(code_base=code_base, tip=tip)


def growths():
    """The lines of the experiment's code bases."""
    return expand(
        "results/growth/{code_base}/lines.parquet", code_base=EXPERIMENT.growth
    )


def characterize_stage(wildcards):
    asked = CONFIG.option("characterization", wildcards.characterization)
    return stages.CharacterizeStage(
        characterization=asked,
        workloads=CONFIG.options("learning", asked.workloads),
        hardware=CONFIG.option("hardware", wildcards.hardware),
    )


def characterized(file):
    """A file of the stage `characterize`, for every cell of the experiment."""
    return expand(
        f"results/characterize/{{characterization}}/{{hardware}}/{file}",
        characterization=EXPERIMENT.characterizations,
        hardware=EXPERIMENT.hardware,
    )


def protect_stage(wildcards):
    protect = EXPERIMENT.protect
    return stages.ProtectStage(
        program=CONFIG.option("task_program", wildcards.task_program),
        protect=replace(protect, programs=[]),
        enclaves=CONFIG.options("enclave", protect.costs),
        hardware=CONFIG.option("hardware", wildcards.hardware),
    )


def protected(file):
    """A file of the stage `protect`, for every cell of the experiment."""
    return expand(
        f"results/protect/{{task_program}}/{{hardware}}/{file}",
        task_program=EXPERIMENT.protect.programs,
        hardware=EXPERIMENT.hardware,
    )


def machines():
    """The hardware that an experiment runs on or schedules on, each once."""
    node_types = [
        node_type
        for name in EXPERIMENT.schedule.clusters
        for node_type in CONFIG.option("cluster", name).nodes
    ]
    return list(dict.fromkeys([*EXPERIMENT.hardware, *node_types]))


def every_workload():
    """The workloads that are debloated, and those that are tuned, each once."""
    names = dict.fromkeys([*EXPERIMENT.workloads, *EXPERIMENT.tune.workloads])
    return CONFIG.options("workload", names)


def tuned_objectives():
    """The objectives of what is tuned: there is a default, also where nothing is."""
    return EXPERIMENT.tune.objectives if EXPERIMENT.tune.tuners else []


def policies():
    return CONFIG.options("policy", EXPERIMENT.schedule.policies)


def round_times(wildcards):
    """The measured times of rounds, where the trace's jobs are programs on a real engine."""
    classes = CONFIG.option("trace", wildcards.trace).classes.values()
    if any(facts.program for facts in classes):
        return rules.profile_engine.output.rounds
    return []


def recorded(wildcards):
    """The files of a trace that was recorded, and those of starts of its classes' images."""
    trace = CONFIG.option("trace", wildcards.trace)
    starts = [
        facts.image_start for facts in trace.classes.values() if facts.image_start
    ]
    return [path for paths in trace.arrivals.files.values() for path in paths] + starts


def image_of(wildcards):
    """The archive of a workload's image, which a recipe of this project may make."""
    target = CONFIG.option("workload", wildcards.workload).target
    location = Path(target.location or "")
    is_ours = location.parent == IMAGES or location.is_file()
    return [str(location)] if target.kind == "image" and is_ours else []
