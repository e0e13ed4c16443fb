"""Runs as CHARACTERIZATION_RUNS has them, of workloads whose response to settings is known."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from trimtab.records.tables import CHARACTERIZATION_RUNS

DEFAULTS: dict[str, Any] = {"executors": 1, "shuffle_compress": True, "depth": 5, "iterations": 20}
PLATFORM = ("executors", "shuffle_compress")

# What settings and a repeat come to: values of columns.
Response = Callable[[Mapping[str, Any], int], Mapping[str, Any]]


def run(
    settings: Mapping[str, Any], repeat: int = 0, *, workload: str = "wine_DT", **values: Any
) -> dict[str, Any]:
    """A row; the phase and what was varied follow from the settings, by name, that differ."""
    varied = [name for name, value in settings.items() if value != DEFAULTS[name]]
    kinds = {"platform" if name in PLATFORM else "hyper" for name in varied}
    phase = "joint" if len(kinds) == 2 else next(iter(kinds), "defaults")
    data, _, method = workload.partition("_")
    row = {
        "workload": workload, "data": data, "data_source": "a test", "method": method,
        "task": "classification", "records": 178, "features": 13, "engine": "local[2]",
        "phase": phase,
        "varied": "+".join(varied), "settings": json.dumps({**DEFAULTS, **settings}),
        "repeat": repeat, "complete": True, "error": "", "quality": 0.9,
        "quality_measure": "accuracy", "train_s": 2.0, "train_s_per_1000_records": 11.2,
        "inference_records_per_s": 5000.0, "price_usd": 0.001, "tasks": 40, "task_s": 1.5,
        "deserialization_s": 0.1, "shuffle_wait_s": 0.02, "shuffle_read_bytes": 4096,
        "shuffle_write_bytes": 4096, "gc_s": 0.01, "executor_cpu_s": 1.0, "cpu_s": 3.0,
        "peak_rss_bytes": 900_000_000, "network_bytes": 8192, "energy_j": 60.0,
        "energy_source": "modelled", "wall_s": 5.0, "own_s": 0.1,
        "started": "2026-01-31T12:00:00Z",
    }  # fmt: skip
    return row | values


def failed(settings: Mapping[str, Any], repeat: int = 0, **values: Any) -> dict[str, Any]:
    """A run that crashed before anything of it was measured."""
    kept = {"workload", "data", "method", "task", "records", "features", "engine", "phase"}
    kept |= {"varied", "settings", "repeat", "wall_s", "energy_source", "quality_measure"}
    row = run(settings, repeat, **values)
    nothing = {name: None for name in row if name not in kept}
    return row | nothing | {"complete": False, "error": "out of memory", "started": row["started"]}


def measured(
    configurations: Iterable[Mapping[str, Any]],
    response: Response,
    repeats: int = 3,
    workload: str = "wine_DT",
) -> list[dict[str, Any]]:
    """Every configuration in every repeat."""
    return [
        run(settings, repeat, workload=workload, **response(settings, repeat))
        for repeat in range(repeats)
        for settings in configurations
    ]


def table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows under the table's columns."""
    return pd.DataFrame(rows, columns=CHARACTERIZATION_RUNS.names)
