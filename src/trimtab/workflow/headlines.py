"""The headline figures and charts of an experiment, to compare after each change."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any

from trimtab.files import new_folder_beside, read_json, replace_folder, write_json

_CHARTS = ("sizes", "energy_and_run_time", "tuners", "response_against_baseline")
_OF_ALL_JOBS = 5  # parts of a schedule's key: cluster, trace, policy, how, what


def write_headlines(evaluated: Path, metrics: Path, charts: Path) -> None:
    """From the folder of an experiment's report, write `metrics` and the folder `charts`."""
    write_json(metrics, headlines_of(read_json(evaluated / "metrics.json")))
    new = new_folder_beside(charts)
    for name in _CHARTS:
        if (chart := evaluated / "figures" / f"{name}.svg").is_file():
            shutil.copyfile(chart, new / chart.name)
    new.chmod(0o755)
    replace_folder(new, charts)


def headlines_of(metrics: dict[str, Any]) -> dict[str, float]:
    """Return at most seven headline figures among all `metrics` of an experiment, in two decimals.

    Sizes and tuning times are sums. Changes of run time and energy are medians over workloads, and
    below zero is less. The makespan is the mean over policies and traces. Their names are short,
    so that `dvc metrics show` fits a terminal of 120 columns.
    """
    targets, workloads = (metrics.get(part, {}).values() for part in ("targets", "workloads"))
    chosen = {
        "verified": metrics.get("verified"),
        "before_mb": _of(sum, _each(targets, "before_mb")),
        "after_mb": _of(sum, _each(targets, "after_mb")),
        "wall_pct": _of(median, _changes(workloads, "wall_reduction_pct")),
        "energy_pct": _of(median, _changes(workloads, "energy_reduction_pct")),
        "tuning_s": _of(sum, _ending(metrics.get("tuning", {}), "tuning_s")),
        "makespan_s": _of(
            fmean,
            (
                value
                for key, value in metrics.get("schedule", {}).items()
                if len(key.split("/")) == _OF_ALL_JOBS and key.endswith("/makespan_s")
            ),
        ),
    }
    return {key: value for key, value in chosen.items() if value is not None}


def _of(how: Any, values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(how(known), 2) if known else None


def _each(parts: Iterable[dict[str, Any]], key: str) -> Iterator[float | None]:
    return (part.get(key) for part in parts)


def _changes(parts: Iterable[dict[str, Any]], key: str) -> Iterator[float]:
    return (-part[key] for part in parts if part.get(key) is not None)


def _ending(values: dict[str, Any], end: str) -> Iterator[float | None]:
    return (value for key, value in values.items() if key.rpartition("/")[2] == end)
