"""Differences between two simulated cells, with the interval of their replications."""

from dataclasses import dataclass

from trimtab.evaluation.inputs.schedules import Cell, relative_pct
from trimtab.evaluation.report.changes import Effect, effect_of
from trimtab.evaluation.report.key_figures import KeyFigure, difference, format_change
from trimtab.records.figures import JobFigures


@dataclass(frozen=True)
class CellDifference:
    """A quantity in one cell, `before`, and in another, `after`; less is better.

    The half-widths of their 99 % confidence intervals are None after one replication.
    """

    before: float
    after: float
    half_before: float | None
    half_after: float | None

    @property
    def interval_pct(self) -> tuple[float, float] | None:
        """The ends of the difference in per cent of `before`; None after one replication.

        Both intervals add up: replications of both cells have the same seeds, so they depend on
        each other.
        """
        if self.half_before is None or self.half_after is None or not self.before:
            return None
        difference, half = self.after - self.before, self.half_before + self.half_after
        low, high = (100 * end / self.before for end in (difference - half, difference + half))
        return low, high

    @property
    def effect(self) -> Effect:
        """Whether it is better, worse or no change, or was simulated once."""
        return effect_of(relative_pct(self.before, self.after), self.interval_pct)

    def figure(self, label: str, unit: str, against: str, unit_size: float = 1.0) -> KeyFigure:
        """Return the key figure, in a unit of `unit_size`; `against` says what it is held to."""
        pct = relative_pct(self.before, self.after)
        before, after = (format_change(each / unit_size) for each in (self.before, self.after))
        words = f"{before} → {after} {unit}{against}"
        return difference(label, pct, self.interval_pct, words)


def response_difference(
    before: JobFigures, after: JobFigures, key: str = "response_mean_s"
) -> CellDifference | None:
    """Return the difference in mean response, or in `key`; None where either is unknown."""
    found = getattr(before, key), getattr(after, key)
    if found[0] is None or found[1] is None:
        return None
    return CellDifference(*found, *(getattr(of, f"{key}_half_width_99") for of in (before, after)))


def energy_difference(before: Cell, after: Cell) -> CellDifference | None:
    """Return the difference in the cluster's whole energy; None where either is unknown."""
    found = before.total_energy_j, after.total_energy_j
    if found[0] is None or found[1] is None:
        return None
    return CellDifference(found[0], found[1], _half_energy_j(before), _half_energy_j(after))


def _half_energy_j(cell: Cell) -> float | None:
    of = cell.summary.all
    idle, active = of.idle_energy_j_half_width_99, of.active_energy_j_half_width_99
    return None if idle is None or active is None else idle + active
