"""What each policy did to each class of jobs, and where their time went."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from trimtab.evaluation.inputs.schedules import ClassOutcome, outcomes
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table, Value
from trimtab.evaluation.schedules.section import (
    SIMULATED,
    ScheduleSection,
    cell_row,
    policy_metrics,
)
from trimtab.records.figures import ClassFigures

_HALF_WIDTH = "_half_width_99"
# Key, heading, digits shown; each is followed by its difference from the baseline.
_COMPARED = (
    ("response_mean_s", "Mean response, s", 2),
    ("response_p95_s", "95th percentile, s", 2),
)
_PLAIN = (
    ("response_p50_s", "Median response, s", 2),
    ("response_p99_s", "99th percentile, s", 2),
    ("waiting_mean_s", "Waiting, s", 2),
    ("execution_mean_s", "Execution, s", 2),
)
_COUNTS = (
    ("evictions", "Evictions"),
    ("migrations", "Migrations"),
    ("dropped_tasks", "Dropped tasks"),
)


class ByClass(ScheduleSection):
    """Response, waiting, waste and energy of each class under each policy."""

    order = 730

    def make_tables(self) -> Iterator[Table]:
        """A row for each class of each cell, simulated and real, beside its baseline."""
        rows = [
            _row(outcome) for setting in self.schedules.settings for outcome in outcomes(setting)
        ]
        yield self.compared(
            "schedule",
            "What each policy did to each class of jobs",
            "Differences are from the same class under the baseline policy of the same trace and "
            "cluster, simulated against simulated and real against real; below zero is less. "
            "Under a time, where a run was repeated: its 99 % confidence interval. Response: from "
            "arrival to finish. Waste: share of machine time spent on executions that were thrown "
            "away. Energy is active energy, without the idle power of the nodes. Published "
            "differences are as printed, most of them rounded there.",
            (
                Column("job_class", "Class"),
                Column("priority", "Priority", 0),
                Column("jobs", "Jobs", 0),
                Column("answered_by", "Answered by", in_report=False),
                *(column for quantity in _COMPARED for column in _compared_columns(*quantity)),
                *(Column(key, heading, digits) for key, heading, digits in _PLAIN),
                Column("waste_pct", "Waste, %", 1),
                Column("energy_j", "Active energy, J", 0),
                Column("energy_difference_pct", "vs. baseline, %", 1),
                *(Column(key, heading, 0) for key, heading in _COUNTS),
                Column("sprint_s", "Sprinting, s", 1),
                Column("drop_ratio_pct", "Drop ratio, %", 0),
                Column("accuracy_loss_pct", "Accuracy loss, %", 1),
                Column("energy_source", "Energy is"),
                Column("details", "Details"),
            ),
            rows,
        )

    def page(self) -> Iterator[Table]:
        """Yield the classes with the most jobs."""
        yield self.without_other_classes(self.tables[0])

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each class."""
        return policy_metrics(self.tables[0])


def interval(numbers: ClassFigures, key: str) -> tuple[float, float] | None:
    """Return the 99 % confidence interval of a number; None where it was not repeated."""
    middle, half = getattr(numbers, key), getattr(numbers, key + _HALF_WIDTH)
    return None if middle is None or half is None else (middle - half, middle + half)


def spread_keys(key: str) -> tuple[str, str]:
    """Return the keys of an interval's ends: "mean_s" gives "mean_low_s" and "mean_high_s"."""
    stem, unit = key.rsplit("_", 1)
    return f"{stem}_low_{unit}", f"{stem}_high_{unit}"


def _compared_columns(key: str, heading: str, digits: int) -> tuple[Column, Column]:
    return (
        Column(key, heading, digits, spread_keys(key)),
        Column(_difference(key), "vs. baseline, %", 1),
    )


def _difference(key: str) -> str:
    return f"{key.rsplit('_', 1)[0]}_difference_pct"


def _row(outcome: ClassOutcome) -> Row:
    numbers = outcome.numbers
    row = identity(outcome)
    for key, *_ in _COMPARED:
        row[key] = getattr(numbers, key)
        row |= dict(zip(spread_keys(key), interval(numbers, key) or (), strict=False))
        row[_difference(key)] = outcome.difference_pct(key)
    row |= {key: getattr(numbers, key) for key, *_ in _PLAIN}
    row |= {key: whole(getattr(numbers, key)) for key in ("priority", "jobs", *dict(_COUNTS))}
    return row | {
        "waste_pct": percent(numbers.waste_share),
        "energy_j": numbers.energy_j,
        "energy_difference_pct": outcome.difference_pct("energy_j"),
        "sprint_s": numbers.sprint_s,
        "drop_ratio_pct": percent(numbers.drop_ratio),
        "accuracy_loss_pct": numbers.accuracy_loss_pct,
        "energy_source": outcome.energy_source,
        "details": _details(outcome),
    }


def identity(outcome: ClassOutcome) -> dict[str, Value]:
    """Return what an outcome is about: policy, trace, cluster, class, and where it is from."""
    return cell_row(outcome.cell) | {
        "job_class": outcome.job_class,
        "answered_by": outcome.answered_by,
        "source": MEASURED if outcome.is_real else SIMULATED,
    }


def _details(outcome: ClassOutcome) -> str:
    if outcome.is_real:
        return f"run on {outcome.answered_by}"
    return "the baseline" if outcome.cell.baseline else ""


def percent(share: float | None) -> float | None:
    """Return a share in per cent."""
    return None if share is None else 100.0 * share


def whole(value: float | None) -> float | int | None:
    """Return a count as an integer; the mean over replications may be none."""
    return int(value) if value is not None and not pd.isna(value) and value % 1 == 0 else value
