"""Nodes and classes of jobs, from YAML files and the measurements of earlier stages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from trimtab.clusters.cluster import MOST_GPUS, Cluster, JobClass, NodeType, Outage
from trimtab.clusters.hardware_types import node_type_of
from trimtab.clusters.rounds import RoundServiceTimes
from trimtab.clusters.waves import WavePhases
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.waves import WaveConfig
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig
from trimtab.errors import UserError
from trimtab.records.trace_facts import MeasuredWorkload

ENGINE = "engine"


def cluster_of(config: ClusterConfig, hardware: Sequence[Hardware]) -> Cluster:
    """Return the nodes of a cluster; `hardware` are its node types in their order.

    An engine runs one job at a time. It is one node, with the memory and power of all its nodes,
    and its slots as cores; service times are at its lowest frequency. Raises UserError for an
    engine of several node types, or of too many GPUs.
    """
    counts = tuple(config.nodes.values())
    if config.engine_slots:
        if len(hardware) > 1:
            raise UserError(
                f"cluster {config.name}: nodes: an engine runs its tasks on equal nodes; expected "
                f"one node type, {', '.join(config.nodes)} given"
            )
        gpus = hardware[0].gpu_count * counts[0]
        if gpus > MOST_GPUS:
            raise UserError(
                f"cluster {config.name}: nodes: an engine is simulated as one node, with {gpus} "
                f"GPUs; expected nodes of at most {MOST_GPUS} GPUs in all"
            )
        engine = _engine(hardware[0], counts[0], config.engine_slots)
        return Cluster((engine,), (1,))
    return Cluster(
        tuple(node_type_of(machine) for machine in hardware),
        counts,
        tuple(Outage(outage.node, outage.start_s, outage.end_s) for outage in config.outages),
    )


def job_classes_of(
    hardware: Sequence[Hardware],
    classes: Mapping[str, JobClassConfig],
    measured: Mapping[str, MeasuredWorkload],
) -> list[JobClass]:
    """Return the classes of jobs; `measured` are the workloads that they name."""
    return [
        _measured_class(name, facts, measured[name], hardware)
        if name in measured
        else JobClass(
            name=name,
            priority=facts.priority,
            image_bytes=_bytes(facts.image_gb),
            cold_start_s=facts.cold_start_s,
            state_bytes=_bytes(facts.state_gb) or None,
            rounds=rounds_of(facts.rounds) if facts.rounds.map_tasks else None,
        )
        for name, facts in classes.items()
    ]


def rounds_of(rounds: RoundsConfig) -> RoundServiceTimes:
    """Return the mean times of a job's rounds and the distribution of its tasks' times."""
    return RoundServiceTimes(
        setup_s=rounds.set_up_s,
        map_task_s=rounds.map_task_s,
        shuffle_s=rounds.shuffle_s,
        reduce_task_s=rounds.reduce_task_s,
        distribution=rounds.distribution,
        map_stages=rounds.map_stages,
        scv=1 / rounds.phases if rounds.distribution == "erlang" else rounds.scv,
        map_wave=_phases_of(rounds.map_wave),
        reduce_wave=_phases_of(rounds.reduce_wave),
    )


def _phases_of(wave: WaveConfig) -> WavePhases:
    return WavePhases(tuple(wave.start), tuple(map(tuple, wave.transitions)))


def measured_work(measured: MeasuredWorkload, hardware: Hardware) -> tuple[float, ...]:
    """Return the measured service times, converted to the reference node."""
    return tuple(work_s * hardware.speed for work_s in measured.work_s)


def _measured_class(
    name: str, facts: JobClassConfig, measured: MeasuredWorkload, hardware: Sequence[Hardware]
) -> JobClass:
    active_w: dict[str, list[float]] = {}
    if measured.active_w is not None:
        # Measured at the highest level only: lower ones scale as the node's own.
        for machine in hardware:
            if machine.name == measured.hardware:
                own = [level.active_w for level in node_type_of(machine).levels]
                whole_node_w = measured.active_w * machine.cores / facts.cores
                active_w[machine.name] = [whole_node_w * watts / own[-1] for watts in own]
    return JobClass(
        name=name,
        priority=facts.priority,
        image_bytes=measured.image_bytes,
        cold_start_s=measured.cold_start_s,
        state_bytes=_bytes(facts.state_gb) or None,
        active_w=active_w,
    )


def _engine(machine: Hardware, count: int, slots: int) -> NodeType:
    together = node_type_of(machine, count)
    lowest = together.levels[0].speed
    levels = tuple(replace(level, speed=level.speed / lowest) for level in together.levels)
    return replace(together, name=ENGINE, cpu_milli=slots * 1000, levels=levels)


def _bytes(size_gb: float) -> int:
    return round(size_gb * 1e9)
