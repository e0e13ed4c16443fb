"""The trace of a stage, drawn or read by its YAML, and its facts: `trace.json`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trimtab.config.groups.jobs.arrivals import TraceFormat
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.progress import tell
from trimtab.records.trace_facts import ArrivalCounts, ClassFacts, ServiceSource, TraceFacts
from trimtab.scheduling.from_config import cluster_of
from trimtab.scheduling.measured import MeasuredClasses, with_rounds
from trimtab.scheduling.trace.arrival_rates import arrival_process, poisson_rates, shares
from trimtab.scheduling.trace.synthetic import synthetic_class
from trimtab.traces.formats.registry import read_format
from trimtab.traces.generators import bursts, marked_markovian, poisson
from trimtab.traces.room import NodeSize, fitting, renumbered
from trimtab.traces.table import arrivals_by_class, class_statistics, read_trace, write_trace

_BINS = 120


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
    classes = [
        synthetic_class(stage, name, measured.workloads.get(name)) for name in config.classes
    ]
    if arrivals.kind == "bursts":
        return bursts(classes, shares(config), config.seed, arrivals.jobs, arrivals.bursts,
                      arrivals.horizon_s)  # fmt: skip
    if arrivals.kind == "poisson":
        rates = poisson_rates(stage, measured.original)
        return poisson(classes, list(rates.values()), config.seed, arrivals.jobs)
    process = arrival_process(stage, measured.original)
    return marked_markovian(
        classes, process.hidden, list(process.marked), config.seed, arrivals.jobs
    )


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
