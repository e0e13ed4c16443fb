"""Turns what a reader found into the table BATCH_JOBS: checked, sorted by submission, from 0 s."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from trimtab.batch.interruptions.checkpoints import COLUMNS, LIMITS_S
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError
from trimtab.records.batch.tables import BATCH_JOBS

MOST_JOBS = 10_000_000  # about 5 GB of memory
_LARGEST = 2.0**53  # of a time in s, or of a job's demand in thousandths or bytes
_MOST_PARTS = 10_000_000
_TEXTS = ["name", "gpu_type", "run_gpu_type", "user", "group", "queue", "image", "model"]
# What a column that a file lacks is filled with.
_UNKNOWN: dict[str, Any] = {
    "name": None,
    "estimate_s": np.nan,
    "parts": 1,
    "gpu_milli": 0,
    "memory_bytes": 0,
    "distinct": False,
    "gpu_type": "",
    "run_gpu_type": "",
    "user": "",
    "group": "",
    "queue": "",
    "priority": 0,
    "start_s": np.nan,
    "deadline_s": np.nan,
    "image": "",
    "least_parts": np.nan,
    "most_parts": np.nan,
    "serial_share": np.nan,
    "counted": True,
    "model": "",
    "checkpoint_interval_s": np.nan,
    "checkpoint_cost_s": np.nan,
    "restart_cost_s": np.nan,
}


@dataclass
class FoundJobs:
    """What a reader found in a file.

    `frame` has BATCH_JOBS' columns as far as they are known, with times in s from any origin, and
    `start_s` for the recorded start; submit_s, run_s and cpu_milli are always there. Missing
    numbers are NaN. `remarks` say what was assumed. `cluster` are the nodes, if the file says them.
    `origin_s` is the first submission, set by `batch_jobs`.
    """

    frame: pd.DataFrame
    skipped: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    cluster: Cluster | None = None
    origin_s: float = 0.0


def check_count(path: Path, jobs: int) -> None:
    """Raise UserError for more than MOST_JOBS jobs."""
    if jobs > MOST_JOBS:
        raise UserError(f"{path}: above {MOST_JOBS:,} jobs; expected fewer: take a shorter time")


def joined(
    path: Path, frames: Iterable[pd.DataFrame], skipped: Counter[str] | None = None
) -> pd.DataFrame:
    """Return the frames as one; UserError with the `skipped` for none, and above MOST_JOBS rows."""
    held: list[pd.DataFrame] = []
    rows = 0
    for frame in frames:
        rows += len(frame)
        check_count(path, rows)
        held.append(frame)
    if not held:
        raise UserError(f"{path}: holds no job{_reasons(skipped)}; expected at least one")
    return pd.concat(held, ignore_index=True)


def _reasons(skipped: Counter[str] | None) -> str:
    said = [f"{why}: {count:,}" for why, count in (skipped or {}).items() if count]
    return f" ({'; '.join(said)})" if said else ""


def batch_jobs(path: Path, found: FoundJobs) -> pd.DataFrame:
    """Return the usable jobs as BATCH_JOBS, ties in the file's order; counts the others as skipped.

    A fraction of a thousandth or a byte counts as a whole one. Above one GPU, demands are whole
    GPUs. Raises UserError with the reasons if no job is left.
    """
    frame = found.frame.copy(deep=False)
    for name, value in _UNKNOWN.items():
        if name not in frame:
            frame[name] = value
    _add_widths(frame)
    frame = _usable(frame, found.skipped)
    if frame.empty:
        reasons = _reasons(found.skipped)
        raise UserError(f"{path}: holds no job that ran{reasons}; expected at least one")
    frame = frame.sort_values("submit_s", kind="stable", ignore_index=True)
    origin_s = found.origin_s = float(frame["submit_s"].iloc[0])
    start_s = frame["start_s"].to_numpy(np.float64)
    known = np.isfinite(start_s) & (start_s >= frame["submit_s"])
    estimate_s = frame["estimate_s"].to_numpy(np.float64)
    gpu_milli = _whole(frame["gpu_milli"])
    columns: dict[str, Any] = {
        "job": np.arange(len(frame)),
        "submit_s": frame["submit_s"] - origin_s,
        "estimate_s": np.where((estimate_s > 0) & (estimate_s < _LARGEST), estimate_s, np.nan),
        "parts": frame["parts"].astype(np.int64),
        "cpu_milli": np.maximum(_whole(frame["cpu_milli"]), 1),
        "gpu_milli": np.where(gpu_milli > 1000, -(-gpu_milli // 1000) * 1000, gpu_milli),
        "memory_bytes": _whole(frame["memory_bytes"]),
        "priority": frame["priority"].fillna(0).astype(np.int64),
        "recorded_start_s": np.where(known, start_s - origin_s, np.nan),
        **{name: frame[name].astype(np.int64) for name in ("least_parts", "most_parts")},
        "deadline_s": frame["deadline_s"].to_numpy(np.float64) - origin_s,
    }
    for name, (least, most) in zip(COLUMNS, LIMITS_S, strict=True):
        value_s = frame[name].to_numpy(np.float64)
        possible = (value_s >= least) & (value_s <= most)
        columns[name] = np.where(possible, value_s, np.nan)
        if strange := int((~possible & np.isfinite(value_s)).sum()):
            expected = f"{least:g} to {most:,.0f} s"
            found.remarks.append(f"{name}: {strange:,} not {expected}, which count as empty")
    columns |= {name: frame[name].fillna("").astype(str) for name in _TEXTS}
    if columns["name"].eq("").all():
        columns["name"] = (pd.RangeIndex(len(frame)) + 1).astype(str)
    table = pa.Table.from_pandas(
        frame.assign(**columns)[BATCH_JOBS.names], BATCH_JOBS, preserve_index=False
    )
    jobs: pd.DataFrame = table.to_pandas()
    _add_remarks(jobs, found.remarks)
    return jobs


def _add_widths(frame: pd.DataFrame) -> None:
    """Replace widths that are unknown, or of no use without a serial share, by the parts."""
    parts, least, most, serial = (
        frame[name].to_numpy(np.float64, na_value=np.nan)
        for name in ("parts", "least_parts", "most_parts", "serial_share")
    )
    least, most = (np.where(np.isnan(serial), np.nan, each) for each in (least, most))
    frame["least_parts"] = np.where(np.isnan(least), np.fmin(parts, most), least)
    frame["most_parts"] = np.where(np.isnan(most), np.fmax(parts, least), most)
    frame["serial_share"] = np.nan_to_num(serial)


def _usable(frame: pd.DataFrame, skipped: Counter[str]) -> pd.DataFrame:
    """Return the rows that can be simulated, and count the others by the first reason."""
    numbers = {
        name: frame[name].to_numpy(np.float64, na_value=np.nan)
        for name in ("submit_s", "run_s", "parts", "cpu_milli", "gpu_milli", "memory_bytes")
    }
    submit_s, run_s, parts = numbers["submit_s"], numbers["run_s"], numbers["parts"]
    no_size = (numbers["cpu_milli"] <= 0) & (numbers["gpu_milli"] <= 0) | (parts < 1)
    negative = (numbers["cpu_milli"] < 0) | (numbers["gpu_milli"] < 0)
    with np.errstate(all="ignore"):
        whole = [numbers[name] * parts for name in ("cpu_milli", "gpu_milli", "memory_bytes")]
    absurd = np.logical_or.reduce([np.abs(each) > _LARGEST for each in (*numbers.values(), *whole)])
    priority = np.abs(frame["priority"].to_numpy(np.float64, na_value=0)) > _LARGEST
    least, most, serial = (
        frame[name].to_numpy(np.float64) for name in ("least_parts", "most_parts", "serial_share")
    )
    moldable = (least != parts) | (most != parts)
    widths = (least >= 1) & (least <= most) & (most <= _MOST_PARTS) & (least % 1 + most % 1 == 0)
    widths = (widths | ~moldable) & (serial >= 0) & (serial <= 1)
    unknown = np.logical_or.reduce([np.isnan(values) for values in numbers.values()])
    left = np.ones(len(frame), bool)
    for reason, bad in {
        "without a submission time": np.isnan(submit_s),
        "without a run time": np.isnan(run_s),
        "ending before they start": run_s < 0,
        "without a size": unknown,
        "beyond any machine": absurd | priority | (parts > _MOST_PARTS),
        "asking for nothing": no_size | negative | (numbers["memory_bytes"] < 0),
        "with widths or a serial share that cannot be": ~widths,
    }.items():
        skipped[reason] += int((left & bad).sum())
        left &= ~bad
    return frame[left]


def _whole(demand: "pd.Series[float]") -> NDArray[np.int64]:
    """Return whole numbers, none below `demand` by more than an error of floating point."""
    values = demand.to_numpy(np.float64)
    nearest = np.rint(values)
    near = np.isclose(values, nearest, rtol=1e-12, atol=1e-6) & (nearest > 0)
    return np.where(near, nearest, np.ceil(values)).astype(np.int64)


def _add_remarks(jobs: pd.DataFrame, remarks: list[str]) -> None:
    unlimited = int(jobs["estimate_s"].isna().sum())
    if unlimited:
        jobs_of = "" if unlimited == len(jobs) else f" for {unlimited:,} of {len(jobs):,} jobs"
        remarks.append(f"no limits of run time{jobs_of}: estimates are the run times")
    if jobs["recorded_start_s"].isna().all():
        remarks.append("no recorded starts: the schedule has nothing to compare with")
