"""The headline figures and charts of an experiment, to compare after each change."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimtab.files import new_folder_beside, read_json, replace_folder, write_json

# By target, workload, search, and policy on a trace; missing ones are left out.
_TARGET = ("before_mb", "after_mb", "file_size_reduction_pct", "functions_reduction_pct")
_WORKLOAD = ("wall_s", "wall_reduction_pct", "peak_memory_reduction_pct", "energy_reduction_pct")
_SEARCH = ("accuracy_pct", "tuning_s", "tuning_kj")
_POLICY = ("makespan_s", "total_energy_j", "waste_pct")
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


def headlines_of(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return the headline figures among all `metrics` of an experiment."""
    chosen = {
        "verified": metrics.get("verified"),
        "targets": _chosen(metrics.get("targets", {}), _TARGET),
        "workloads": _chosen(metrics.get("workloads", {}), _WORKLOAD),
        "tuning": dict(_ending(metrics.get("tuning", {}), _SEARCH)),
        "schedule": {
            key: value
            for key, value in _ending(metrics.get("schedule", {}), _POLICY)
            if len(key.split("/")) == _OF_ALL_JOBS
        },
    }
    return {key: value for key, value in chosen.items() if value not in (None, {})}


def _chosen(parts: dict[str, dict[str, Any]], keys: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: {key: values[key] for key in keys if values.get(key) is not None}
        for name, values in parts.items()
    }


def _ending(values: dict[str, Any], ends: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if key.rpartition("/")[2] in ends and value is not None:
            yield key, value
