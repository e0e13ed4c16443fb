"""The best policies against the baseline."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.schedules import CellGroup, outcomes, relative_pct
from trimtab.evaluation.report.key_figures import KeyFigure, change
from trimtab.evaluation.report.tables import shown
from trimtab.evaluation.schedules.section import ScheduleSection


class BestPolicies(ScheduleSection):
    """The policies with the least energy and the shortest response time."""

    order = 690
    chapter = None

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the best policies of each setting."""
        for setting in self.schedules.settings:
            for card in (*_least_energy(setting), *_shortest(setting)):
                yield setting.label, card


def _least_energy(setting: CellGroup) -> Iterator[KeyFigure]:
    baseline = setting.baseline
    energies = [
        (cell.total_energy_j, cell)
        for cell in setting.cells
        if cell is not baseline and cell.total_energy_j is not None
    ]
    if baseline is None or not energies or not baseline.total_energy_j:
        return
    energy_j, cell = min(energies, key=lambda pair: pair[0])
    yield KeyFigure(
        f"Least energy ({cell.summary.energy_source}): {cell.label}",
        change(relative_pct(baseline.total_energy_j, energy_j)),
        f"{baseline.total_energy_j / 1e3:,.1f} → {energy_j / 1e3:,.1f} kJ, "
        f"against {baseline.label}",
    )


def _shortest(setting: CellGroup) -> Iterator[KeyFigure]:
    """Yield the policy that is best for the lowest class, and what it does to the highest."""
    highest, lowest = setting.classes[0], setting.classes[-1]
    compared = [
        outcome
        for outcome in outcomes(setting)
        if not outcome.is_real and outcome.difference_pct("response_mean_s") is not None
    ]
    of_lowest = [outcome for outcome in compared if outcome.job_class == lowest]
    if not of_lowest:
        return
    best = min(of_lowest, key=lambda outcome: outcome.numbers.response_mean_s or 0.0).cell
    for outcome in compared:
        if outcome.cell is best and outcome.job_class in (highest, lowest) and outcome.baseline:
            before, after = (n.response_mean_s for n in (outcome.baseline, outcome.numbers))
            yield KeyFigure(
                f"Mean response of {outcome.job_class}: {best.label}",
                change(outcome.difference_pct("response_mean_s")),
                f"{shown(before, 2)} → {shown(after, 2)} s, against {setting.cells[0].label}",
            )
