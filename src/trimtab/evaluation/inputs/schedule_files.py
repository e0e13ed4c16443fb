"""The files of the schedule stage, read and checked."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.inputs.files import (
    check_columns,
    document,
    is_number,
    numbers,
    refuse_twice,
    require,
    table,
)
from trimtab.evaluation.inputs.schedules import Analytic, Cell, Deflator, Numbers, Real, Trace
from trimtab.records.tables import LOAD, NODES, SCHEDULED, STAYS

SCHEDULE_FILES = (
    "summary.json",
    "jobs.parquet",
    "stays.parquet",
    "nodes.parquet",
    "load.parquet",
)
FORMULA_NUMBERS = (
    "response_mean_s",
    "response_p50_s",
    "response_p95_s",
    "response_p99_s",
    "waiting_mean_s",
    "execution_mean_s",
    "waste_share",
)
CLASS_NUMBERS = (
    *FORMULA_NUMBERS,
    "priority",
    "jobs",
    "evictions",
    "migrations",
    "sprint_s",
    "dropped_tasks",
    "energy_j",
    "drop_ratio",
    "accuracy_loss_pct",
)
TOTAL_NUMBERS = (
    "makespan_s",
    "utilisation",
    "idle_energy_j",
    "active_energy_j",
    "replications",
)
_SUMMARY = ("cluster", "trace", "policy", "policy_label", "baseline", "simulator", "seed")
_SEARCHED = ("response_mean_s", "response_p95_s", "accuracy_loss_pct")
_SOURCES = ("energy_source", "service_source")


def read_cells(folders: Iterable[Path]) -> tuple[Cell, ...]:
    """Read folders with SCHEDULE_FILES, one for each cluster, trace and policy.

    Raises UserError when a file is missing or a cell is given twice, and TrimtabError when a file
    does not hold what the schedule stage writes.
    """
    cells = [_cell(folder) for folder in folders]
    refuse_twice("schedule", [(cell.cluster, cell.trace, cell.policy) for cell in cells])
    baselines = Counter((cell.cluster, cell.trace) for cell in cells if cell.baseline)
    for (cluster, trace), count in baselines.items():
        if count > 1:
            raise UserError(f"trace {trace} on {cluster}: {count} policies are the baseline")
    labels = Counter((cell.cluster, cell.trace, cell.label) for cell in cells)
    return tuple(
        replace(cell, label=f"{cell.label} ({cell.policy})")
        if labels[cell.cluster, cell.trace, cell.label] > 1
        else cell
        for cell in cells
    )


def _cell(folder: Path) -> Cell:
    require(folder, SCHEDULE_FILES, "schedule")
    path = folder / "summary.json"
    summary = document(path, (*_SUMMARY, *_SOURCES, "classes", "all"))
    numbers(str(path), summary, ("seed",))
    classes = _classes(path, summary["classes"], CLASS_NUMBERS)
    by_priority = sorted(classes, key=lambda name: -(classes[name]["priority"] or 0))
    if not classes:
        raise TrimtabError(f"{path}: classes: there is none")
    return Cell(
        cluster=str(summary["cluster"]),
        trace=str(summary["trace"]),
        policy=str(summary["policy"]),
        label=str(summary["policy_label"]),
        baseline=summary["baseline"] is True,
        engine=str(summary["simulator"]),
        seed=int(summary["seed"] or 0),
        classes={name: classes[name] for name in by_priority},
        totals=numbers(f"{path}: all", summary["all"], TOTAL_NUMBERS),
        energy_source=str(summary["energy_source"]),
        service_source=str(summary["service_source"]),
        jobs=check_columns(folder / "jobs.parquet", SCHEDULED),
        stays=check_columns(folder / "stays.parquet", STAYS),
        nodes=table(folder / "nodes.parquet", NODES),
        load=table(folder / "load.parquet", LOAD, may_be_empty=True),
        stays_jobs=summary.get("stays_jobs"),
        analytic=_analytic(folder / "analytic.json"),
        real=_real(folder),
    )


def _classes(path: Path, found: Any, keys: Iterable[str]) -> dict[str, Numbers]:
    if not isinstance(found, Mapping):
        raise TrimtabError(f"{path}: classes: expected an object")
    return {
        str(name): numbers(f"{path}: classes: {name}", of_class, keys)
        for name, of_class in found.items()
    }


def _analytic(path: Path) -> Analytic | None:
    if not path.is_file():
        return None
    found = document(path, ("model", "classes", "not_possible_because"))
    classes = _classes(path, found["classes"], FORMULA_NUMBERS)
    reason = str(found["not_possible_because"] or "")
    if not classes and not reason:
        raise TrimtabError(f"{path}: no class, and not_possible_because does not say why")
    return Analytic(str(found["model"]), classes, reason)


def _real(folder: Path) -> Real | None:
    path = folder / "real.json"
    if not path.is_file():
        return None
    require(folder, ("real.parquet",), "schedule")
    found = document(path, ("engine", "scale", "machine", "sprint", "classes"))
    if not is_number(found["scale"]):
        raise TrimtabError(f"{path}: scale: expected a number, found {found['scale']!r}")
    return Real(
        engine=str(found["engine"]),
        scale=float(found["scale"]),
        machine=str(found["machine"]),
        sprint=str(found["sprint"] or ""),
        classes=_classes(path, found["classes"], CLASS_NUMBERS),
        jobs=check_columns(folder / "real.parquet", SCHEDULED),
        energy_source=str(found.get("energy_source") or ""),
    )


def read_deflator(path: Path) -> Deflator:
    """Read deflator_{objective}.json, whose folders name its cluster and trace.

    Raises UserError and TrimtabError as read_cells does.
    """
    require(path.parent, (path.name,), "schedule")
    found = document(path, ("objective", "classes", "rows", "confirmed"))
    classes = tuple(str(name) for name in found["classes"])
    for number, row in enumerate(found["rows"], start=1):
        where = f"{path}: row {number}"
        numbers(where, row, ("energy_j_per_job",))
        for key in ("drop_ratio", "timeout_s", *_SEARCHED):
            numbers(f"{where}: {key}", row.get(key), classes)
    confirmed = found["confirmed"] or {}
    return Deflator(
        path.parent.parent.name,
        path.parent.name,
        str(found["objective"]),
        classes,
        tuple(found["rows"]),
        {key: numbers(f"{path}: confirmed: {key}", confirmed[key], classes) for key in confirmed},
    )


def read_trace(path: Path) -> Trace:
    """Read trace.json; raises UserError and TrimtabError as read_cells does."""
    require(path.parent, (path.name,), "schedule")
    found = document(path, ("trace", "cluster", "classes", "arrivals"))
    try:
        bins = found["arrivals"]
        return Trace(
            str(found["trace"]),
            str(found["cluster"]),
            float(bins["bin_s"]),
            {
                str(name): [int(count) for count in bins["classes"][name]]
                for name in bins["classes"]
            },
            {
                str(name): [(float(ratio), float(loss)) for ratio, loss in points]
                for name, of_class in found["classes"].items()
                if (points := of_class.get("accuracy_loss"))
            },
            {str(reason): int(rows) for reason, rows in found.get("skipped", {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise TrimtabError(
            f"{path}: expected arrivals with bin_s and counts by class, and for each class "
            "accuracy_loss as a list of [drop ratio, loss in per cent]"
        ) from None
