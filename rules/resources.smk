import math
from pathlib import Path

from trimtab.errors import TrimtabError


def gpus(wildcards):
    """The GPUs that a run on a machine may use: all of them, as it has all of its cores."""
    return CONFIG.option("hardware", wildcards.hardware).gpu_count


def machine_of(wildcards):
    """The machine that a job is for, by its YAML; one of a schedule runs on the first there is."""
    names = [getattr(wildcards, "hardware", None), *EXPERIMENT.hardware]
    given = next((name for name in names if name is not None), None)
    return CONFIG.option("hardware", given) if given else CONFIG.root.hardware


def every_core(wildcards):
    """The threads of a job beside which nothing may run: on a cluster all of its machine's.

    Here Snakemake lowers a large number to --cores.
    """
    return EVERY_CORE if workflow.local_exec else machine_of(wildcards).cores


def growing(amount):
    """Memory or time, of which every further attempt asks more: twice as much, then three times."""

    def asked(wildcards, attempt):
        return attempt * (amount(wildcards) if callable(amount) else amount)

    return asked


def memory_mb(workloads):
    """Memory for the largest of these workloads, MB."""
    return math.ceil(max(workload.memory_gib for workload in workloads) * 2**30 / 1e6)


def memory_of_workload(wildcards):
    """Memory for the runs of a workload, MB."""
    return memory_mb([CONFIG.option("workload", wildcards.workload)])


def memory_of_target(wildcards):
    """Memory for the runs of a target's workloads and for the removal of code, MB."""
    return max(4000, memory_mb(CONFIG.workloads(wildcards.target)))


def longest_min(workloads, runs):
    """Minutes until `runs` runs of each were ended for taking too long, and ten for the rest."""
    return math.ceil(sum(workload.timeout_s for workload in workloads) * runs / 60) + 10


def profiled_min(wildcards):
    """The plain runs of `profile`, the traced ones and as many to compare them with, two more.

    These two are one for eager loading and one for files.
    """
    runs = CONFIG.root.profiling.repeats + 2 * CONFIG.root.profiling.traced_runs + 2
    return longest_min([CONFIG.option("workload", wildcards.workload)], runs)


def settled_min(wildcards):
    """The runs in the slim environment, all of which miss something; half an hour for the rest."""
    runs = CONFIG.root.settle.clean_runs * (CONFIG.root.settle.rebuilds + 1)
    return longest_min(CONFIG.workloads(wildcards.target), runs) + 20


def verified_min(wildcards):
    """The runs in both environments, those for resident memory, one to find a crash, and of each
    input that is held out one in the original and three in the slim environment."""
    workloads = CONFIG.workloads(wildcards.target)
    held_out = max(len(workload.held_out) for workload in workloads)
    runs = 2 * (CONFIG.root.verify.repeats + 1) + 1 + 4 * held_out
    return longest_min(workloads, runs)


def saved_min(wildcards):
    """The runs that record and save two starts, each at up to four imports, and ten of each that
    compare."""
    return longest_min(CONFIG.workloads(wildcards.target), 1 + 2 * (2 * 4 + 10))


def searched_min(wildcards, seeds=1):
    """Every trial on every rung of the searches, one after the other, and ten for the rest."""
    # What tells the rungs loads what suggests trials: for those alone that tune.
    from trimtab.tuning.search.duration import longest_s

    try:
        return math.ceil(longest_s(STAGES["tune"].given(wildcards, seeds)) / 60) + 10
    except UserError as error:
        raise WorkflowError(escape_control_characters(str(error)))


def measured_alone_min(wildcards):
    """Every configuration that was told, in every round, and ten for the rest.

    How many these are is known once the searches have ended, which is before this is asked for.
    """
    from trimtab.tuning.search.duration import longest_alone_s

    told = "results/tune/{tuner}/{workload}/{hardware}/{objective}/inference.parquet"
    try:
        return math.ceil(longest_alone_s(Path(told.format(**wildcards))) / 60) + 10
    except TrimtabError as error:
        raise WorkflowError(escape_control_characters(str(error)))


def tuned_min(wildcards):
    """The searches of all seeds; where machines have shared them, to write down what they found."""
    if EXPERIMENT.tune.machines > 1:
        return 10
    return searched_min(wildcards, EXPERIMENT.tune.seeds)
