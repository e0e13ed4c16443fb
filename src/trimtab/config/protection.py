"""Which jobs of a trace have to be protected, and where they can be, as the files say it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.enclave import Enclave
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.trace import JobClassConfig, TraceConfig
from trimtab.config.groups.workload import Workload


def with_secure_workloads(trace: TraceConfig, workloads: Mapping[str, Workload]) -> TraceConfig:
    """Return the trace whose classes are secure too where the workload that they name is.

    What a class says itself of its calls and bytes goes before what its workload says.
    """
    classes = {
        name: replace(facts, secure=facts.secure or workloads[facts.workload].secure)
        if facts.workload
        else facts
        for name, facts in trace.classes.items()
    }
    return replace(trace, classes=classes)


def has_secure(trace: TraceConfig) -> bool:
    """Return whether some class of the trace is secure."""
    return any(facts.secure is not None for facts in trace.classes.values())


def has_room(machine: Hardware, facts: JobClassConfig) -> bool:
    """Return whether a machine is large enough for the jobs of a class, as the files say it."""
    memory_gib = 0.0 if facts.workload else facts.memory_gib  # it is measured
    return (
        facts.cores <= machine.cores
        and facts.gpus <= machine.gpu_count
        and memory_gib <= machine.memory_gib
    )


def unprotected(
    facts: JobClassConfig,
    cluster: ClusterConfig,
    machines: Sequence[Hardware],
    enclaves: Mapping[str, Enclave],
) -> list[str]:
    """Return why no node of a cluster protects the jobs of a class, a reason for each node type.

    Empty: some node does, or it is known only when the job has been measured or read.
    """
    reasons = []
    for machine in machines:
        if machine.enclave is None:
            reasons.append(f"{machine.name} has no enclave")
            continue
        threads, memory_gib = _asked(facts, cluster, machine)
        reason = enclaves[machine.enclave].why_not(threads, facts.gpus, memory_gib * 2**30)
        if not reason:
            return []
        reasons.append(f"{machine.name}: {reason}")
    return reasons


def _asked(facts: JobClassConfig, cluster: ClusterConfig, machine: Hardware) -> tuple[int, float]:
    """Return the threads of a job on a node, and their memory in GiB as far as it is known."""
    slots = cluster.engine_slots
    threads = math.ceil(slots / cluster.nodes[machine.name] if slots else facts.cores)
    secure = facts.secure
    if secure is None or secure.working_set_mib is None:
        share = threads / slots if slots else 1.0
        return threads, 0.0 if facts.workload else facts.memory_gib * share
    tasks = threads if facts.rounds.map_tasks else 1
    return threads, secure.working_set_mib * tasks / 1024
