"""Measurements of a workload by earlier stages, for a class of jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from trimtab.config.groups.trace import JobClassConfig, TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.records.images.cold_start import ColdStart
from trimtab.records.measured_rounds import MeasuredRounds, RoundTimes
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES, RUNS
from trimtab.records.trace_facts import MeasuredPair, MeasuredWorkload

_CONDITIONS = {"original": "before", "debloated": "after"}
_COMPARED = ("work_s", "cold_start_s", "active_w")


@dataclass(frozen=True)
class MeasuredClasses:
    """Measurements of a trace's classes, by class.

    `workloads` are in the environment of their class, `original` are the same workloads in the
    original environment; `rounds` are of programs on a real engine.
    """

    workloads: Mapping[str, MeasuredWorkload] = field(default_factory=dict)
    original: Mapping[str, MeasuredWorkload] = field(default_factory=dict)
    rounds: Mapping[str, RoundTimes] = field(default_factory=dict)


def read_measured(
    stage: TraceStage,
    *,
    rounds: Sequence[Path],
    verify_runs: Sequence[Path],
    libraries: Sequence[Path],
) -> MeasuredClasses:
    """Return the measurements of the classes of a stage's trace.

    `rounds` are files of MeasuredRounds; `verify_runs` (RUNS) and `libraries` (LIBRARIES) are the
    targets' files. Raises UserError as measured_workload and reading documents do.
    """
    idle_w = {machine.name: machine.idle_w for machine in stage.hardware}
    named = {
        name: facts
        for name, facts in stage.trace.classes.items()
        if facts.workload or facts.measured
    }

    def workload(facts: JobClassConfig, environment: str) -> MeasuredWorkload:
        if facts.measured:
            pair = MeasuredPair.read(Path(facts.measured))
            return pair.original if environment == "original" else pair.debloated
        found = measured_workload(verify_runs, libraries, facts.workload, environment, idle_w)
        return with_image_start(found, Path(facts.image_start)) if facts.image_start else found

    return MeasuredClasses(
        {name: workload(facts, facts.environment) for name, facts in named.items()},
        {name: workload(facts, "original") for name, facts in named.items()},
        {
            name: times
            for path in rounds
            for name, times in MeasuredRounds.read(path).classes.items()
        },
    )


def with_image_start(measured: MeasuredWorkload, path: Path) -> MeasuredWorkload:
    """Return a workload with the image and the cold start of the ColdStart in `path`."""
    document = ColdStart.read(path)
    side = document.before if measured.environment == "original" else document.after
    return replace(
        measured,
        image_bytes=side.compressed_bytes,
        cold_start_s=median(took.unpack_s + took.start_s for took in side.rounds),
        no_clear_change=tuple(n for n in measured.no_clear_change if n != "cold_start_s"),
    )


def with_rounds(trace: TraceConfig, rounds: Mapping[str, RoundTimes]) -> TraceConfig:
    """Return the trace with the classes' rounds replaced by the measured `rounds`, by class."""
    classes = {
        name: replace(facts, rounds=replace(facts.rounds, **vars(rounds[name])))
        if name in rounds
        else facts
        for name, facts in trace.classes.items()
    }
    return replace(trace, classes=classes)


def measured_workload(
    verify_runs: Sequence[Path],
    libraries: Sequence[Path],
    workload: str,
    environment: str,
    idle_w: Mapping[str, float],
) -> MeasuredWorkload:
    """Return a workload's measurements in `verify_runs` (RUNS) and `libraries` (LIBRARIES).

    `environment` is `original` or `debloated`; `idle_w`, by machine, is the idle power in the runs'
    energy. Values whose paired differences span zero are pooled over both environments. Otherwise
    noise in a few runs would make one environment cost a cluster more. Raises UserError where no
    run is of the workload.
    """
    for runs_path, libraries_path in zip(verify_runs, libraries, strict=True):
        runs = read_table(runs_path, RUNS)
        runs = runs[(runs["workload"] == workload) & runs["condition"].isin(_CONDITIONS)]
        if (runs["condition"] == environment).any():
            hardware = str(runs["hardware"].iloc[0])
            if hardware not in idle_w:
                raise UserError(
                    f"workload {workload} was measured on {hardware}; expected that machine among "
                    f"the cluster's node types, {', '.join(idle_w)}, to compare them with"
                )
            table = read_table(libraries_path, LIBRARIES)
            return _measured(runs, table, environment, idle_w[hardware])
    raise UserError(
        f"workload {workload}: no run in the {environment} environment; expected one in "
        f"{', '.join(str(path) for path in verify_runs)}"
    )


def _measured(
    runs: pd.DataFrame, libraries: pd.DataFrame, environment: str, idle_w: float
) -> MeasuredWorkload:
    start_up_s = runs["start_up_s"].fillna(0.0)
    # A program's mark just before its end may be noticed only at the end. As no job takes no time,
    # all of such a run is work.
    start_up_s = start_up_s.where(start_up_s < runs["wall_s"], 0.0)
    figures = runs.assign(
        cold_start_s=start_up_s,
        work_s=runs["wall_s"] - start_up_s,
        active_w=runs["energy_j"].astype(float) / runs["wall_s"] - idle_w,
    )
    own = figures[figures["condition"] == environment]
    unclear = tuple(name for name in _COMPARED if not _clearly_differs(figures, name))
    values = {name: (figures if name in unclear else own)[name] for name in _COMPARED}
    power_w = values["active_w"]
    when = _CONDITIONS[environment]
    return MeasuredWorkload(
        workload=str(own["workload"].iloc[0]),
        hardware=str(own["hardware"].iloc[0]),
        environment=environment,
        work_s=tuple(map(float, values["work_s"])),
        cold_start_s=float(values["cold_start_s"].mean()),
        image_bytes=int(libraries[f"compressed_{when}_bytes"].sum()),
        memory_bytes=int(own["peak_rss_bytes"].max()),
        active_w=max(0.0, float(power_w.mean())) if np.isfinite(power_w).all() else None,
        energy_source=str(own["energy_source"].iloc[0]),
        no_clear_change=unclear,
    )


def _clearly_differs(runs: pd.DataFrame, name: str) -> bool:
    """Whether all pairs of runs differ in the same direction; False without a complete pair."""
    pairs = runs.groupby(["repeat", "condition"])[name].first().unstack()
    pairs = pairs.reindex(columns=list(_CONDITIONS)).dropna()
    differences = pairs["debloated"] - pairs["original"]
    return len(pairs) > 0 and bool((differences > 0).all() or (differences < 0).all())
