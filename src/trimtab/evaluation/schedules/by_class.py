"""The effect of each policy on each class of jobs, and the parts of their time."""

from collections.abc import Iterator

import pandas as pd

from trimtab.evaluation.inputs.schedules import CellGroup, ClassOutcome, outcomes
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table, Value
from trimtab.evaluation.schedules.section import SIMULATED, ScheduleSection, cell_row, format_role
from trimtab.records.figures import ClassFigures

# A column with the difference from the baseline follows each.
_COMPARED = {"response_mean_s": "Mean response, s", "response_p95_s": "95th percentile, s"}
_TIMES = {
    "response_p50_s": "Median response, s",
    "response_p99_s": "99th percentile, s",
    "waiting_mean_s": "Waiting, s",
    "execution_mean_s": "Execution, s",
}
_COUNTS = {
    "evictions": "Evictions",
    "migrations": "Migrations",
    "dropped_tasks": "Dropped tasks",
}
_WHO = (Column("job_class", "Class"), Column("answered_by", "Answered by", in_report=False))


class ByClass(ScheduleSection):
    """Response, waiting, waste and energy of each class under each policy."""

    order = 730

    def make_tables(self) -> Iterator[Table]:
        """A row for each class of each cell, simulated and real, with its baseline."""
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
                _WHO[0],
                Column("priority", "Priority", 0),
                Column("jobs", "Jobs", 0),
                _WHO[1],
                *(column for quantity in _COMPARED.items() for column in _beside(*quantity)),
                *(Column(key, heading, 2) for key, heading in _TIMES.items()),
                Column("waste_pct", "Waste, %", 1),
                Column("energy_j", "Active energy, J", 0),
                Column("energy_difference_pct", "vs. baseline, %", 1),
                *(Column(key, heading, 0) for key, heading in _COUNTS.items()),
                Column("sprint_s", "Sprinting, s", 1),
                Column("drop_ratio_pct", "Drop ratio, %", 0),
                Column("accuracy_loss_pct", "Accuracy loss, %", 1),
                Column("energy_source", "Energy is"),
                Column("details", "Details"),
            ),
            [
                _row(outcome, setting)
                for setting in self.schedules.settings
                for outcome in outcomes(setting)
            ],
        )


class Queueing(ScheduleSection):
    """Mean queueing and execution time of each class under each policy."""

    order = 750

    def make_tables(self) -> Iterator[Table]:
        """A row for each class of each cell, simulated and real."""
        yield self.compared(
            "queueing_by_policy",
            titled("Queueing and execution time by class and policy", "queueing_by_policy"),
            "Means over the jobs of a class. Execution: the one that finished, with its set-up. "
            "The published policies: sprinting without preemption, without and with dropped "
            "tasks.",
            (
                *_WHO,
                Column("waiting_mean_s", "Queueing, s", 2),
                Column("execution_mean_s", "Execution, s", 2),
            ),
            [
                _identity(outcome) | picked(outcome.numbers, "waiting_mean_s", "execution_mean_s")
                for setting in self.schedules.settings
                for outcome in outcomes(setting)
            ],
        )


def interval(numbers: ClassFigures, key: str) -> tuple[float, float] | None:
    """Return the 99 % confidence interval of a number; None without replications."""
    middle, half = getattr(numbers, key), getattr(numbers, f"{key}_half_width_99")
    return None if middle is None or half is None else (middle - half, middle + half)


def spread_keys(key: str) -> tuple[str, str]:
    """Return the keys of an interval's ends: "mean_s" gives "mean_low_s" and "mean_high_s"."""
    stem, unit = key.rsplit("_", 1)
    return f"{stem}_low_{unit}", f"{stem}_high_{unit}"


def _beside(key: str, heading: str) -> tuple[Column, Column]:
    difference = Column(difference_key(key), "vs. baseline, %", 1)
    return Column(key, heading, 2, spread_keys(key)), difference


def difference_key(key: str) -> str:
    """Return the key of a difference: "mean_s" gives "mean_difference_pct"."""
    return f"{key.rsplit('_', 1)[0]}_difference_pct"


def _row(outcome: ClassOutcome, setting: CellGroup) -> Row:
    numbers = outcome.numbers
    row = _identity(outcome) | picked(numbers, *_COMPARED, *_TIMES, "energy_j", "sprint_s")
    for key in _COMPARED:
        row |= dict(zip(spread_keys(key), interval(numbers, key) or (), strict=False))
    for key in (*_COMPARED, "energy_j"):
        row[difference_key(key)] = outcome.difference_pct(key)
    for key in ("priority", "jobs", *_COUNTS):
        row[key] = whole(getattr(numbers, key))
    role = format_role(outcome.cell, setting)
    return row | {
        "waste_pct": percent(numbers.waste_share),
        "drop_ratio_pct": percent(numbers.drop_ratio),
        "accuracy_loss_pct": numbers.accuracy_loss_pct,
        "energy_source": outcome.energy_source,
        "details": f"run on {outcome.answered_by}" if outcome.is_real else role,
    }


def _identity(outcome: ClassOutcome) -> dict[str, Value]:
    """Return the identity of an outcome: policy, trace, cluster, class, and source."""
    return cell_row(outcome.cell) | {
        "job_class": outcome.job_class,
        "answered_by": outcome.answered_by,
        "source": MEASURED if outcome.is_real else SIMULATED,
    }


def picked(figures: object, *keys: str) -> dict[str, Value]:
    """Return these figures of a record, by key."""
    return {key: getattr(figures, key) for key in keys}


def percent(share: float | None) -> float | None:
    """Return a share in per cent."""
    return None if share is None else 100.0 * share


def whole(value: float | None) -> float | int | None:
    """Return a count as an integer; means over replications may be fractions."""
    return int(value) if value is not None and not pd.isna(value) and value % 1 == 0 else value
