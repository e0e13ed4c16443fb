"""The trace of a setting, and what is known of it: `trace.parquet` and `trace.json`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.groups.trace import TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.records.trace_facts import ArrivalCounts, ClassFacts, ServiceSource, TraceFacts
from trimtab.scheduling.measured import Measured, with_rounds
from trimtab.scheduling.trace_frames import frames_of
from trimtab.traces.table import arrivals_by_class, class_statistics, write_trace

_BINS = 120


def make_trace(stage: TraceStage, measured: Measured, destination: Path) -> None:
    """Write `trace.parquet` (TRACE) and `trace.json` to the folder `destination`.

    Raises UserError for a trace that is none, or that its files do not hold.
    """
    trace = with_rounds(stage.trace, measured.rounds)
    skipped: Counter[str] = Counter()
    path = destination / "trace.parquet"
    write_trace(path, frames_of(replace(stage, trace=trace), measured, skipped))
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


def _class_facts(
    trace: TraceConfig, name: str, of_class: Mapping[Any, Any], end_s: float, measured: Measured
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


def _service_source(trace: TraceConfig, measured: Measured) -> ServiceSource:
    if measured.rounds:
        return ServiceSource.MEASURED_ROUNDS
    if measured.workloads:
        return ServiceSource.PROFILE
    return ServiceSource.RECORDED if trace.arrivals.kind == "file" else ServiceSource.DRAWN
