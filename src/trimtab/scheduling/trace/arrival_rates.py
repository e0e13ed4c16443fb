"""The arrivals of a drawn trace: rates by class, or a marked Markovian arrival process."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from trimtab.clusters.cluster import WHOLE_GPU
from trimtab.clusters.hardware_types import node_type_of
from trimtab.clusters.round_times import service_times
from trimtab.config.groups.jobs.arrivals import ArrivalKind
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.queueing.mmap import MarkedArrivals, modulated
from trimtab.records.trace_facts import MeasuredWorkload
from trimtab.scheduling.from_config import rounds_of
from trimtab.scheduling.trace.synthetic import synthetic_class
from trimtab.traces.generators import RoundCounts, SyntheticClass, rates_for_load

_SAMPLE = 20_000  # jobs that estimate the mean service time


def poisson_rates(stage: TraceStage, original: Mapping[str, MeasuredWorkload]) -> dict[str, float]:
    """Return the arrival rate of each class of Poisson arrivals, 1/s."""
    config, parts = stage.trace, shares(stage.trace)
    if config.arrivals.rate_per_s:
        rates = [config.arrivals.rate_per_s * share for share in parts]
    else:
        work_s, share = _demand(stage, original, parts)
        rates = rates_for_load(config.arrivals.load / share, work_s, parts).tolist()
    return dict(zip(config.classes, rates, strict=True))


def arrival_process(stage: TraceStage, original: Mapping[str, MeasuredWorkload]) -> MarkedArrivals:
    """Return the process of `markovian` or `modulated` arrivals, in the order of the classes.

    With a `load`, all of its rates are multiplied by one factor, so that classes arrive in the same
    proportions, and bursts bring as many jobs.
    """
    given, names = stage.trace.arrivals, list(stage.trace.classes)
    if given.kind == ArrivalKind.MODULATED:
        process = modulated([given.phase_rates[name] for name in names], given.switching)
    else:
        process = MarkedArrivals(
            np.array(given.transitions), np.array([given.marked[name] for name in names])
        )
    if not given.load:
        return process
    work_s, share = _demand(stage, original, process.rates.tolist())
    return process.scaled(given.load / share / float(process.rates @ work_s))


def shares(config: TraceConfig) -> list[float]:
    """Return the share of each class in all jobs; they add up to 1."""
    total = sum(facts.share for facts in config.classes.values())
    return [facts.share / total for facts in config.classes.values()]


def _demand(
    stage: TraceStage, original: Mapping[str, MeasuredWorkload], parts: Sequence[float]
) -> tuple[list[float], float]:
    """Return the mean service time of each class, s, and the share of the cluster that jobs hold.

    On an engine that is all of it. Elsewhere it is of the cores, the GPUs or the memory, whichever
    is the scarcest, with the classes' `parts` of all jobs.
    """
    drawn = [synthetic_class(stage, name, original.get(name)) for name in stage.trace.classes]
    work_s = [_work_s(stage, each) for each in drawn]
    if stage.cluster.engine_slots:
        return work_s, 1.0
    capacity = np.zeros(3)
    for count, machine in zip(stage.cluster.nodes.values(), stage.hardware, strict=True):
        node = node_type_of(machine, count)
        capacity += np.array([node.cpu_milli, node.gpu_milli, node.memory_bytes]) * machine.speed
    weights = np.array(parts) * work_s
    if not weights.any():
        return work_s, 1.0  # without work there is no load
    held = [(each.cpu_milli, _held_gpu_milli(each), each.memory_bytes) for each in drawn]
    mean_held = weights @ np.array(held, float) / weights.sum()
    # Jobs that ask for what no node has are refused when they are placed.
    return work_s, float((mean_held / np.where(capacity > 0, capacity, math.inf)).max())


def _work_s(stage: TraceStage, drawn: SyntheticClass) -> float:
    """Return the mean service time of a class of jobs on the reference node, s."""
    if not isinstance(drawn.work, RoundCounts):
        return drawn.work.mean
    jobs = np.arange(_SAMPLE)
    maps = np.full(_SAMPLE, drawn.work.map_tasks.counts[0])
    reduces = np.full(_SAMPLE, drawn.work.reduce_tasks.counts[0])
    slots = np.full(_SAMPLE, max(1, drawn.cpu_milli // 1000))
    rounds = rounds_of(stage.trace.classes[drawn.name].rounds)
    return float(service_times(rounds, stage.trace.seed, jobs, maps, reduces, slots)[0].mean())


def _held_gpu_milli(drawn: SyntheticClass) -> int:
    """Return what a job holds of GPUs, in thousandths: more than one are whole ones."""
    if drawn.gpu_milli < WHOLE_GPU:
        return drawn.gpu_milli
    return -(-drawn.gpu_milli // WHOLE_GPU) * WHOLE_GPU
