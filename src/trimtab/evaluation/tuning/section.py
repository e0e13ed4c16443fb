"""The base of the sections about tuning."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from statistics import median
from typing import ClassVar

from trimtab.evaluation.inputs.tunings import SeedSearch, TunedCell, TunedSetting, settings_of
from trimtab.evaluation.report.section import TUNING, Chapter, ReportSection
from trimtab.evaluation.report.tables import HARDWARE_COLUMN, Column, Value, reduction_pct

WHO = (
    Column("name", "Tuner"),
    Column("workload", "Workload"),
    Column("objective", "Objective"),
    Column("tuner", "Tuner's file", in_report=False),
    HARDWARE_COLUMN,
)


class TuningSection(ReportSection):
    """A section about tuned cells."""

    stage = "tune"
    chapter: ClassVar[Chapter | None] = TUNING

    @cached_property
    def settings(self) -> tuple[TunedSetting, ...]:
        """The settings for comparing tuners, with their cells."""
        return tuple(settings_of(self.measurements.tunings))


def who(cell: TunedCell) -> dict[str, Value]:
    """Return the first cells of a row about a cell."""
    return {
        "name": cell.label,
        "workload": cell.workload,
        "objective": cell.objective,
        "tuner": cell.tuner,
        "hardware": cell.hardware,
    }


def of_seeds(key: str, values: Iterable[float | None]) -> dict[str, Value]:
    """Return the median over searches under `key`, and its extremes if there are several.

    The keys of the extremes are from spread_of, with `_low` and `_high` before the unit.
    """
    known = [value for value in values if value is not None and value == value]
    if not known:
        return {}
    row: dict[str, Value] = {key: median(known)}
    if len(known) > 1:
        low, high = spread_of(key)
        row |= {low: min(known), high: max(known)}
    return row


def spread_of(key: str) -> tuple[str, str]:
    """Return the keys of the lowest and highest of several values: tuning_low_s, tuning_high_s."""
    stem, _, unit = key.rpartition("_")
    return f"{stem}_low_{unit}", f"{stem}_high_{unit}"


def against(
    baseline: Sequence[SeedSearch], searches: Sequence[SeedSearch], value: str
) -> list[float | None]:
    """Return the reduction of `value` from the baseline's in per cent, seed by seed."""
    before = {search.seed: getattr(search, value) for search in baseline}
    return [
        reduction_pct(before[search.seed], getattr(search, value))
        for search in searches
        if before.get(search.seed)
    ]
