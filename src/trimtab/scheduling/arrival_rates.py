"""The arrivals of a drawn trace: rates by class, or a marked Markovian arrival process."""

from collections.abc import Mapping

import numpy as np

from trimtab.clusters.round_times import service_times
from trimtab.config.groups.jobs.arrivals import ArrivalKind
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.queueing.mmap import MarkedArrivals, modulated
from trimtab.records.trace_facts import MeasuredWorkload
from trimtab.scheduling.from_config import rounds_of
from trimtab.scheduling.synthetic import synthetic_class
from trimtab.traces.generators import RoundCounts, rates_for_load

_SAMPLE = 20_000  # jobs that estimate the mean service time


def poisson_rates(stage: TraceStage, original: Mapping[str, MeasuredWorkload]) -> dict[str, float]:
    """Return the arrival rate of each class of Poisson arrivals, 1/s."""
    config, parts = stage.trace, shares(stage.trace)
    if config.arrivals.rate_per_s:
        rates = [config.arrivals.rate_per_s * share for share in parts]
    else:
        demand = list(_demands(stage, original).values())
        load = config.arrivals.load * _capacity(stage)
        rates = rates_for_load(load, demand, parts).tolist()
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
    demand = list(_demands(stage, original).values())
    return process.scaled(given.load * _capacity(stage) / float(process.rates @ demand))


def shares(config: TraceConfig) -> list[float]:
    """Return the share of each class in all jobs; they add up to 1."""
    total = sum(facts.share for facts in config.classes.values())
    return [facts.share / total for facts in config.classes.values()]


def _demands(stage: TraceStage, original: Mapping[str, MeasuredWorkload]) -> dict[str, float]:
    return {name: _demand(stage, name, original.get(name)) for name in stage.trace.classes}


def _demand(stage: TraceStage, name: str, measured: MeasuredWorkload | None) -> float:
    """Return the demand of an average job: core seconds, or seconds of an engine."""
    synthetic, engine_slots = synthetic_class(stage, name, measured), stage.cluster.engine_slots
    if not isinstance(synthetic.work, RoundCounts):
        cores = 1.0 if engine_slots else synthetic.cpu_milli / 1000
        return synthetic.work.mean * cores
    jobs = np.arange(_SAMPLE)
    maps = np.full(_SAMPLE, synthetic.work.map_tasks.counts[0])
    reduces = np.full(_SAMPLE, synthetic.work.reduce_tasks.counts[0])
    slots = np.full(_SAMPLE, max(1, engine_slots or synthetic.cpu_milli // 1000))
    rounds = rounds_of(stage.trace.classes[name].rounds)
    return float(service_times(rounds, stage.trace.seed, jobs, maps, reduces, slots)[0].mean())


def _capacity(stage: TraceStage) -> float:
    """Return the cluster's capacity in core seconds of the reference node per second.

    An engine counts as 1: it runs one job at a time.
    """
    if stage.cluster.engine_slots:
        return 1.0
    counts = stage.cluster.nodes.values()
    return sum(
        count * machine.cores * machine.speed
        for count, machine in zip(counts, stage.hardware, strict=True)
    )
