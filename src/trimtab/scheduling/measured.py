"""What the stages before this one measured of a workload, as a class of jobs needs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trimtab.errors import UserError
from trimtab.records.tables import LIBRARIES, RUNS, read_table

_CONDITIONS = {"original": "before", "debloated": "after"}


@dataclass(frozen=True)
class MeasuredWorkload:
    """A workload in one environment, from the runs that compared both in turn.

    `work_s` are the service times of those runs, start-up excluded; `cold_start_s` is the mean
    time from a process' start to its first iteration. `image_bytes` are the environment's shared
    libraries, compressed: what a pull moves of them. `active_w` is the mean power above idle.
    """

    workload: str
    hardware: str
    environment: str
    work_s: tuple[float, ...]
    cold_start_s: float
    image_bytes: int
    memory_bytes: int
    active_w: float | None
    energy_source: str


def measured_workload(
    verify_runs: Sequence[Path],
    libraries: Sequence[Path],
    workload: str,
    environment: str,
    idle_w: Mapping[str, float],
) -> MeasuredWorkload:
    """Return what `verify_runs` (RUNS) and `libraries` (LIBRARIES) say of a workload.

    `environment` is `original` or `debloated`; `idle_w`, by machine, is the idle power that the
    runs' energy includes. Raises UserError where no run of the workload is among them.
    """
    for runs_path, libraries_path in zip(verify_runs, libraries, strict=True):
        runs = read_table(runs_path, RUNS)
        runs = runs[(runs["workload"] == workload) & (runs["condition"] == environment)]
        if len(runs):
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
    power_w = runs["energy_j"].astype(float) / runs["wall_s"]
    when = _CONDITIONS[environment]
    known = bool(np.isfinite(power_w).all())
    return MeasuredWorkload(
        workload=str(runs["workload"].iloc[0]),
        hardware=str(runs["hardware"].iloc[0]),
        environment=environment,
        work_s=tuple(float(value) for value in runs["wall_s"] - start_up_s),
        cold_start_s=float(start_up_s.mean()),
        image_bytes=int(libraries[f"compressed_{when}_bytes"].sum()),
        memory_bytes=int(runs["peak_rss_bytes"].max()),
        active_w=max(0.0, float(power_w.mean()) - idle_w) if known else None,
        energy_source=str(runs["energy_source"].iloc[0]),
    )


def workloads_of(document: Mapping[str, Any]) -> dict[str, MeasuredWorkload]:
    """Return what `trace.json` holds of measured workloads, by class."""
    return {
        name: MeasuredWorkload(**{**facts, "work_s": tuple(facts["work_s"])})
        for name, facts in document.items()
        if facts is not None
    }
