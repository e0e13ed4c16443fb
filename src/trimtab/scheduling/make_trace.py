"""The trace of a stage, drawn or read by its YAML, and its facts: `trace.json`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.clusters.hardware_types import GIB
from trimtab.clusters.round_times import service_times
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.trace import (
    JobClassConfig,
    TraceConfig,
    TraceFormat,
    WorkConfig,
)
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.progress import tell
from trimtab.records.trace_facts import (
    ArrivalCounts,
    ClassFacts,
    MeasuredWorkload,
    ServiceSource,
    TraceFacts,
)
from trimtab.scheduling.from_config import cluster_of, measured_work, rounds_of
from trimtab.scheduling.measured import MeasuredClasses, with_rounds
from trimtab.traces import distribution
from trimtab.traces.formats.registry import read_format
from trimtab.traces.generators import (
    RoundCounts,
    SyntheticClass,
    TaskCounts,
    bursts,
    marked_markovian,
    poisson,
    rates_for_load,
)
from trimtab.traces.room import NodeSize, fitting, renumbered
from trimtab.traces.table import arrivals_by_class, class_statistics, read_trace, write_trace

_BINS = 120
_SAMPLE = 20_000  # jobs that estimate the mean service time


def make_trace(stage: TraceStage, measured: MeasuredClasses, destination: Path) -> None:
    """Write `trace.parquet` (TRACE) and `trace.json` to the folder `destination`.

    The user is told how many jobs of a recorded trace are left out, and why. Raises UserError for
    an invalid trace, and for one that its files do not hold.
    """
    trace = with_rounds(stage.trace, measured.rounds)
    skipped: Counter[str] = Counter()
    path = destination / "trace.parquet"
    write_trace(path, frames_of(replace(stage, trace=trace), measured, skipped))
    if +skipped:
        tell(f"trace {trace.name}: left out: {_left_out(skipped)}")
    classes, last_arrival_s = class_statistics(path)
    end_s = max(last_arrival_s, 1e-9)
    TraceFacts(
        trace=trace.name,
        cluster=stage.cluster.name,
        jobs=int(classes["jobs"].sum()),
        classes={
            str(name): _class_facts(trace, str(name), of_class, end_s, measured)
            for name, of_class in classes.to_dict("index").items()
        },
        arrivals=ArrivalCounts(
            end_s / _BINS, arrivals_by_class(path, np.linspace(0.0, end_s, _BINS + 1))
        ),
        skipped=dict(+skipped),
        original=dict(measured.original),
        rounds=dict(measured.rounds),
        service_source=_service_source(trace, measured),
    ).write(destination / "trace.json")


def _left_out(skipped: Counter[str]) -> str:
    return "; ".join(f"{rows:,} rows: {reason}" for reason, rows in (+skipped).items())


def _class_facts(
    trace: TraceConfig,
    name: str,
    of_class: Mapping[Any, Any],
    end_s: float,
    measured: MeasuredClasses,
) -> ClassFacts:
    configured = trace.classes.get(name)
    return ClassFacts(
        jobs=int(of_class["jobs"]),
        arrival_rate_per_s=float(of_class["jobs"]) / end_s,
        mean_work_s=None if of_class["without_work"] else float(of_class["work_s"]),
        accuracy_loss=[(drop_ratio, loss_pct) for drop_ratio, loss_pct in configured.accuracy_loss]
        if configured
        else [],
        measured=measured.workloads.get(name),
    )


def _service_source(trace: TraceConfig, measured: MeasuredClasses) -> ServiceSource:
    if measured.rounds:
        return ServiceSource.MEASURED_ROUNDS
    if measured.workloads:
        return ServiceSource.PROFILE
    return ServiceSource.RECORDED if trace.arrivals.kind == "file" else ServiceSource.DRAWN


@dataclass(frozen=True)
class Empirical:
    """The empirical distribution: one of the measured values, equally probable."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.mean(self.values))

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        return rng.choice(np.array(self.values), size)


def frames_of(
    stage: TraceStage, measured: MeasuredClasses, skipped: Counter[str]
) -> Iterable[pd.DataFrame]:
    """Return the trace of a stage as chunks of TRACE.

    The load is defined for the original environment, so both environments get the same arrivals.
    While chunks are read, `skipped` counts the rows of a recorded trace that are left out, also
    those that no node has room for. Raises UserError for an invalid trace, and for one that its
    files do not hold.
    """
    config, arrivals = stage.trace, stage.trace.arrivals
    if arrivals.kind == "file" and arrivals.format is not None:
        return _some(_recorded(stage, arrivals.format, skipped), config.name, skipped)
    classes = [_synthetic(stage, name, measured.workloads.get(name)) for name in config.classes]
    if arrivals.kind == "bursts":
        return bursts(classes, _shares(config), config.seed, arrivals.jobs, arrivals.bursts,
                      arrivals.horizon_s)  # fmt: skip
    if arrivals.kind == "markovian":
        marked = [arrivals.marked[job_class.name] for job_class in classes]
        return marked_markovian(classes, arrivals.transitions, marked, config.seed, arrivals.jobs)
    rates = rates_of(stage, measured.original)
    return poisson(classes, list(rates.values()), config.seed, arrivals.jobs)


def _recorded(
    stage: TraceStage, name: TraceFormat, skipped: Counter[str]
) -> Iterator[pd.DataFrame]:
    """Yield the jobs of a recorded trace that fit an empty node."""
    arrivals = stage.trace.arrivals
    nodes = [
        NodeSize(kind.cpu_milli, kind.gpu_milli, kind.memory_bytes)
        for kind in cluster_of(stage.cluster, stage.hardware).node_types
    ]
    if name == "parquet":
        paths = [Path(path) for paths in arrivals.files.values() for path in paths]
        whole = (frame for path in paths for frame in read_trace(path))
        return renumbered(fitting(whole, nodes, skipped))
    return read_format(name, arrivals.files, arrivals.options, skipped, nodes)


def _some(
    frames: Iterator[pd.DataFrame], trace: str, skipped: Counter[str]
) -> Iterator[pd.DataFrame]:
    """Yield `frames`; raise UserError if none of them has a job, and rows were left out."""
    found = False
    for frame in frames:
        found = found or not frame.empty
        yield frame
    if not found and +skipped:
        raise UserError(
            f"trace {trace}: no job is left, expected at least one; left out: {_left_out(skipped)}"
        )


def rates_of(stage: TraceStage, original: Mapping[str, MeasuredWorkload]) -> dict[str, float]:
    """Return the arrival rate of each class of Poisson arrivals, 1/s."""
    config, shares = stage.trace, _shares(stage.trace)
    if config.arrivals.rate_per_s:
        rates = [config.arrivals.rate_per_s * share for share in shares]
    else:
        demand = [_demand(stage, name, original.get(name)) for name in config.classes]
        load = config.arrivals.load * _capacity(stage)
        rates = rates_for_load(load, demand, shares).tolist()
    return dict(zip(config.classes, rates, strict=True))


def _shares(config: TraceConfig) -> list[float]:
    total = sum(facts.share for facts in config.classes.values())
    return [facts.share / total for facts in config.classes.values()]


def _synthetic(stage: TraceStage, name: str, measured: MeasuredWorkload | None) -> SyntheticClass:
    facts = stage.trace.classes[name]
    memory_bytes = int(facts.memory_gib * GIB) if measured is None else measured.memory_bytes
    return SyntheticClass(
        name=name,
        priority=facts.priority,
        cpu_milli=stage.cluster.engine_slots * 1000 or round(facts.cores * 1000),
        gpu_milli=round(facts.gpus * 1000),
        memory_bytes=memory_bytes,
        work=_work(facts, stage.hardware, measured),
    )


def _work(
    facts: JobClassConfig, hardware: Sequence[Hardware], measured: MeasuredWorkload | None
) -> distribution.Distribution | RoundCounts:
    if measured is not None:
        (machine,) = [node_type for node_type in hardware if node_type.name == measured.hardware]
        return Empirical(measured_work(measured, machine))
    if facts.rounds.map_tasks:
        # The rounds' times leave out rounds without tasks; here the count has to be 1 or more.
        scv = facts.rounds.size_scv
        return RoundCounts(
            TaskCounts((facts.rounds.map_tasks,), (1.0,)),
            TaskCounts((max(1, facts.rounds.reduce_tasks),), (1.0,)),
            distribution.LogNormal(1.0, scv) if scv else distribution.Deterministic(1.0),
        )
    return _distribution(facts.work)


def _distribution(work: WorkConfig) -> distribution.Distribution:
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


def _demand(stage: TraceStage, name: str, measured: MeasuredWorkload | None) -> float:
    """Return the demand of an average job: core seconds, or seconds of an engine."""
    synthetic, engine_slots = _synthetic(stage, name, measured), stage.cluster.engine_slots
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
