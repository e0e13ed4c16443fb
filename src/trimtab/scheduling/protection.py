"""Jobs in enclaves: their types of nodes, and the modelled cost.

`secure_tasks.cost` has the model. A job has one thread for each requested core, with equal shares
of its calls, bytes and memory. A job of twice the work makes twice the calls. Other jobs on a node
take no page cache from it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trimtab.clusters.cluster import Cluster, JobClass, NodeType
from trimtab.clusters.hardware_types import GIB
from trimtab.clusters.round_times import service_times
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.enclave import Enclave, Secure
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig
from trimtab.config.stages import TraceStage
from trimtab.policies.facts import Asked
from trimtab.scheduling.from_config import ENGINE, rounds_of
from trimtab.secure_tasks.cost import Bound, EnclaveTask, protected_s

_SAMPLE = 2_000  # jobs of rounds, to compare mean times


def protect(
    stage: TraceStage,
    cluster: Cluster,
    job_classes: Sequence[JobClass],
    asked: Sequence[Asked],
    bound: Bound,
) -> list[JobClass]:
    """Return `job_classes` with the `protection` of secure ones; others are unchanged.

    `asked` has the request of an average job of each class. Jobs of rounds on an engine get longer
    tasks instead, so dropping tasks also saves their protection.
    """
    enclaves = {enclave.name: enclave for enclave in stage.enclaves}
    protected = []
    for job_class, average in zip(job_classes, asked, strict=True):
        facts = stage.trace.classes.get(job_class.name)
        if facts is None or facts.secure is None:
            protected.append(job_class)
            continue
        if stage.cluster.engine_slots and job_class.rounds is not None:
            job_class = replace(
                job_class, rounds=rounds_of(protected_rounds(stage, job_class.name, bound))
            )
        factors = {
            kind.name: _factor(stage, kind, enclaves.get(kind.enclave), facts, average, bound)
            for kind in cluster.node_types
        }
        protected.append(replace(job_class, protection=factors))
    return protected


def protected_rounds(stage: TraceStage, name: str, bound: Bound | None) -> RoundsConfig:
    """Return the rounds of a class on an engine, with its tasks' times in an enclave.

    They are unchanged where the class is not secure, where the engine's nodes have no enclave, and
    without a `bound`.
    """
    facts, (machine,) = stage.trace.classes[name], stage.hardware
    enclave = next((one for one in stage.enclaves if one.name == machine.enclave), None)
    if bound is None or facts.secure is None or enclave is None:
        return facts.rounds
    slots = stage.cluster.engine_slots
    memory_bytes = facts.memory_gib * GIB / slots
    threads = threads_of_engine(stage.cluster)
    return _inside(facts.rounds, facts.secure, memory_bytes, threads, enclave, bound)


def threads_of_engine(cluster: ClusterConfig) -> int:
    """Return the number of concurrent tasks on one node of an engine."""
    (count,) = cluster.nodes.values()
    return math.ceil(cluster.engine_slots / count)


def _factor(
    stage: TraceStage,
    node_type: NodeType,
    enclave: Enclave | None,
    facts: JobClassConfig,
    average: Asked,
    bound: Bound,
) -> float:
    secure, memory_bytes = facts.secure, average.memory_gib * GIB
    assert secure is not None
    is_engine = node_type.name == ENGINE and stage.cluster.engine_slots > 0
    threads = threads_of_engine(stage.cluster) if is_engine else max(1, math.ceil(average.cores))
    rounds = facts.rounds if facts.rounds.map_tasks and not facts.workload else None
    if rounds is not None:
        memory_bytes /= max(1.0, average.cores)  # of each task
    together = threads if rounds is not None else 1
    inside_bytes = together * _working_set_bytes(secure, memory_bytes)
    if enclave is None or enclave.why_not(threads, average.gpus, inside_bytes):
        return math.inf
    if rounds is None:
        # At the highest level: calls, encryption and faults take cycles, as work does.
        work_s = average.work_s / node_type.levels[-1].speed
        return _job_s(work_s, secure, memory_bytes, threads, enclave, bound) / work_s
    if is_engine:
        return 1.0  # its tasks already are longer
    inside = _inside(rounds, secure, memory_bytes, threads, enclave, bound)
    return _mean_s(inside, threads, stage.trace.seed) / _mean_s(rounds, threads, stage.trace.seed)


def _job_s(
    work_s: float,
    secure: Secure,
    memory_bytes: float,
    threads: int,
    enclave: Enclave,
    bound: Bound,
) -> float:
    share = EnclaveTask(
        work_s=work_s,
        calls=secure.calls / threads,
        in_bytes=secure.encrypted_mb * 1e6 / threads,
        working_set_bytes=_working_set_bytes(secure, memory_bytes) / threads,
    )
    return protected_s(share, threads, enclave, bound)


def _inside(
    rounds: RoundsConfig,
    secure: Secure,
    memory_bytes: float,
    threads: int,
    enclave: Enclave,
    bound: Bound,
) -> RoundsConfig:
    """Return rounds with tasks in an enclave, `threads` at once, each of `memory_bytes`."""

    def task_s(work_s: float) -> float:
        task = EnclaveTask(
            work_s=work_s,
            calls=secure.calls,
            in_bytes=secure.encrypted_mb * 1e6,
            working_set_bytes=_working_set_bytes(secure, memory_bytes),
        )
        return protected_s(task, threads, enclave, bound)

    return replace(
        rounds, map_task_s=task_s(rounds.map_task_s), reduce_task_s=task_s(rounds.reduce_task_s)
    )


def _mean_s(rounds: RoundsConfig, slots: int, seed: int) -> float:
    jobs = np.arange(_SAMPLE)
    maps, reduces, places = (
        np.full(_SAMPLE, count) for count in (rounds.map_tasks, rounds.reduce_tasks, slots)
    )
    return float(service_times(rounds_of(rounds), seed, jobs, maps, reduces, places)[0].mean())


def _working_set_bytes(secure: Secure, memory_bytes: float) -> float:
    given_mib = secure.working_set_mib
    return memory_bytes if given_mib is None else given_mib * 2**20


def enclaves_in_use(cluster: Cluster, job_classes: Sequence[JobClass]) -> dict[str, str]:
    """Return the enclaves that secure classes use, by node type."""
    return {
        kind.name: kind.enclave
        for kind in cluster.node_types
        if any(one.protection is not None and one.runs_on(kind.name) for one in job_classes)
    }
