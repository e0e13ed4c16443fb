"""A trace's jobs as a cluster meets them, and what is known of them, from its YAML."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.clusters.round_times import service_times
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.trace import JobClassConfig, TraceConfig, Work
from trimtab.files import write_json
from trimtab.scheduling.from_config import GIB, measured_work, stages_of
from trimtab.scheduling.measured import MeasuredWorkload
from trimtab.traces import distribution
from trimtab.traces.formats.registry import read_format
from trimtab.traces.generators import (
    StageCounts,
    SyntheticClass,
    TaskCounts,
    bursts,
    marked_markovian,
    poisson,
    rates_for_load,
)
from trimtab.traces.statistics import arrivals_by_class, class_statistics
from trimtab.traces.table import read_trace, write_trace

_SAMPLE = 20_000  # jobs whose mean service time stands for all
_BINS = 120


@dataclass(frozen=True)
class Empirical:
    """One of the measured values, each as likely as the others."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.mean(self.values))

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        return rng.choice(np.array(self.values), size)


def with_stages(config: TraceConfig, stages: Mapping[str, Mapping[str, Any]]) -> TraceConfig:
    """Return the trace whose classes have the measured `stages`, by class, in place of theirs."""
    classes = {
        name: replace(facts, rounds=replace(facts.rounds, **stages.get(name, {})))
        for name, facts in config.classes.items()
    }
    return replace(config, classes=classes)


def make_trace(
    config: TraceConfig,
    cluster: ClusterConfig,
    hardware: Sequence[Hardware],
    measured: Mapping[str, MeasuredWorkload],
    original: Mapping[str, MeasuredWorkload],
    stages: Mapping[str, Mapping[str, Any]],
    destination: Path,
) -> None:
    """Write `trace.parquet` (TRACE) and `trace.json` to the folder `destination`.

    `hardware` are the cluster's node types, `measured` what is known of each class that names a
    workload, in the environment that it names, and `original` in the original one: a load is that
    of the original, so that both environments meet the same arrivals. `stages` are those of classes
    whose programs were measured on a real engine. Raises UserError for a trace
    that is none, or that its files do not hold.
    """
    config = with_stages(config, stages)
    skipped: Counter[str] = Counter()
    path = destination / "trace.parquet"
    write_trace(path, frames_of(config, cluster, hardware, measured, original, skipped))
    classes, last_arrival_s = class_statistics(path)
    end_s = max(last_arrival_s, 1e-9)
    write_json(
        destination / "trace.json",
        {
            "trace": config.name,
            "cluster": cluster.name,
            "jobs": int(classes["jobs"].sum()),
            "classes": {
                str(name): _facts(config, str(name), of_class, end_s, measured)
                for name, of_class in classes.to_dict("index").items()
            },
            "arrivals": {
                "bin_s": end_s / _BINS,
                "classes": arrivals_by_class(path, np.linspace(0.0, end_s, _BINS + 1)),
            },
            "skipped": dict(+skipped),
            "original": {name: asdict(facts) for name, facts in original.items()},
            "stages": {name: dict(measured_stages) for name, measured_stages in stages.items()},
            "service_source": _source(config, measured, stages),
        },
    )


def frames_of(
    config: TraceConfig,
    cluster: ClusterConfig,
    hardware: Sequence[Hardware],
    measured: Mapping[str, MeasuredWorkload],
    original: Mapping[str, MeasuredWorkload],
    skipped: Counter[str],
) -> Iterable[pd.DataFrame]:
    """Return the trace as chunks of TRACE; the arguments are those of make_trace."""
    arrivals = config.arrivals
    if arrivals.kind == "file" and arrivals.format is not None:
        if arrivals.format == "parquet":
            return (frame for paths in arrivals.files.values() for path in paths
                    for frame in read_trace(Path(path)))  # fmt: skip
        return read_format(arrivals.format, arrivals.files, arrivals.options, skipped)
    classes = [
        _synthetic(name, facts, cluster, hardware, measured.get(name))
        for name, facts in config.classes.items()
    ]
    if arrivals.kind == "bursts":
        return bursts(classes, _shares(config), config.seed, arrivals.jobs, arrivals.bursts,
                      arrivals.horizon_s)  # fmt: skip
    if arrivals.kind == "markovian":
        marked = [arrivals.marked[one.name] for one in classes]
        return marked_markovian(classes, arrivals.transitions, marked, config.seed, arrivals.jobs)
    rates = rates_of(config, cluster, hardware, original)
    return poisson(classes, list(rates.values()), config.seed, arrivals.jobs)


def rates_of(
    config: TraceConfig,
    cluster: ClusterConfig,
    hardware: Sequence[Hardware],
    original: Mapping[str, MeasuredWorkload],
) -> dict[str, float]:
    """Return the arrival rate of each class of Poisson arrivals, 1/s."""
    shares = _shares(config)
    if config.arrivals.rate_per_s:
        return {
            name: config.arrivals.rate_per_s * share
            for name, share in zip(config.classes, shares, strict=True)
        }
    demand = [
        _demand(facts, _synthetic(name, facts, cluster, hardware, original.get(name)), cluster,
                config.seed)
        for name, facts in config.classes.items()
    ]  # fmt: skip
    load = config.arrivals.load * _capacity(cluster, hardware)
    rates = rates_for_load(load, demand, shares)
    return dict(zip(config.classes, rates.tolist(), strict=True))


def _shares(config: TraceConfig) -> list[float]:
    total = sum(facts.share for facts in config.classes.values())
    return [facts.share / total for facts in config.classes.values()]


def _synthetic(
    name: str,
    facts: JobClassConfig,
    cluster: ClusterConfig,
    hardware: Sequence[Hardware],
    measured: MeasuredWorkload | None,
) -> SyntheticClass:
    memory_bytes = int(facts.memory_gib * GIB) if measured is None else measured.memory_bytes
    return SyntheticClass(
        name=name,
        priority=facts.priority,
        cpu_milli=cluster.engine_slots * 1000 or round(facts.cores * 1000),
        gpu_milli=round(facts.gpus * 1000),
        memory_bytes=memory_bytes,
        work=_work(facts, hardware, measured),
    )


def _work(
    facts: JobClassConfig, hardware: Sequence[Hardware], measured: MeasuredWorkload | None
) -> distribution.Distribution | StageCounts:
    if measured is not None:
        (machine,) = [one for one in hardware if one.name == measured.hardware]
        return Empirical(measured_work(measured, machine))
    if facts.rounds.map_tasks:
        # A stage without tasks is left out by the stages' own times; its count has to be 1 or more.
        scv = facts.rounds.size_scv
        return StageCounts(
            TaskCounts((facts.rounds.map_tasks,), (1.0,)),
            TaskCounts((max(1, facts.rounds.reduce_tasks),), (1.0,)),
            distribution.LogNormal(1.0, scv) if scv else distribution.Deterministic(1.0),
        )
    return _distribution(facts.work)


def _distribution(work: Work) -> distribution.Distribution:
    match work.distribution:
        case "deterministic":
            return distribution.Deterministic(work.mean_s)
        case "erlang":
            return distribution.Erlang(work.mean_s, work.phases)
        case "uniform":
            return distribution.Uniform(work.minimum_s, work.maximum_s)
        case "lognormal":
            return distribution.LogNormal(work.mean_s, work.scv)
        case "hyperexponential":
            return distribution.HyperExponential(work.mean_s, work.scv)
        case _:
            return distribution.Exponential(work.mean_s)


def _demand(facts: JobClassConfig, one: SyntheticClass, cluster: ClusterConfig, seed: int) -> float:
    """Return what an average job asks of the capacity: core seconds, or seconds of an engine."""
    if not isinstance(one.work, StageCounts):
        cores = 1.0 if cluster.engine_slots else one.cpu_milli / 1000
        return one.work.mean * cores
    jobs = np.arange(_SAMPLE)
    maps = np.full(_SAMPLE, one.work.map_tasks.counts[0])
    reduces = np.full(_SAMPLE, one.work.reduce_tasks.counts[0])
    slots = np.full(_SAMPLE, max(1, cluster.engine_slots or one.cpu_milli // 1000))
    return float(service_times(stages_of(facts.rounds), seed, jobs, maps, reduces, slots)[0].mean())


def _capacity(cluster: ClusterConfig, hardware: Sequence[Hardware]) -> float:
    """Return the core seconds, of the reference node, that the cluster does in a second.

    An engine counts as one: it has one job at a time.
    """
    if cluster.engine_slots:
        return 1.0
    return sum(
        count * machine.cores * machine.speed
        for count, machine in zip(cluster.nodes.values(), hardware, strict=True)
    )


def _facts(
    config: TraceConfig,
    name: str,
    of_class: Mapping[Any, Any],
    end_s: float,
    measured: Mapping[str, MeasuredWorkload],
) -> dict[str, Any]:
    given = config.classes.get(name)
    return {
        "jobs": int(of_class["jobs"]),
        "arrival_rate_per_s": float(of_class["jobs"]) / end_s,
        "mean_work_s": None if of_class["without_work"] else float(of_class["work_s"]),
        "accuracy_loss": [list(pair) for pair in given.accuracy_loss] if given else [],
        "measured": asdict(measured[name]) if name in measured else None,
    }


def _source(config: TraceConfig, measured: Mapping[str, Any], stages: Mapping[str, Any]) -> str:
    if stages:
        return "stages measured on a real engine"
    if measured:
        return "profile and debloat of this experiment"
    return "recorded trace" if config.arrivals.kind == "file" else "drawn from the trace's YAML"
