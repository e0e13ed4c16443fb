"""The schedules: methods, best policies and caveats."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.schedules import CellGroup, outcomes, relative_pct
from trimtab.evaluation.report.blocks import Prose, prose
from trimtab.evaluation.report.key_figures import KeyFigure, change, effect_of
from trimtab.evaluation.report.tables import MODELLED, shown
from trimtab.evaluation.schedules.section import ScheduleSection


class Scheduled(ScheduleSection):
    """The cells, their methods, and the policies with the least energy and response."""

    order = 690
    chapter = None

    def done(self) -> Iterator[Prose]:
        """Yield a description of simulations and real runs."""
        yield prose(
            "scheduled.html.j2", schedules=self.schedules, targets=self.measurements.targets
        )

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the best policies of each setting."""
        for setting in self.schedules.settings:
            for card in (*_least_energy(setting), *_shortest(setting)):
                yield setting.label, card

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield remarks on modelled, impossible or omitted results."""
        for setting in self.schedules.settings:
            yield from _of_setting(setting)
        for trace in self.schedules.traces:
            for reason, rows in trace.skipped.items():
                said = f"{rows:,} rows of the recorded trace were left out: {reason.rstrip('.')}."
                yield trace.trace, said


def _of_setting(setting: CellGroup) -> Iterator[tuple[str, str]]:
    if setting.baseline is None:
        yield setting.label, "no policy is the baseline, so there are no differences."
    for cell in setting.cells:
        if cell.summary.energy_source == MODELLED:
            yield setting.label, "energy of the schedules is modelled, not measured."
        if cell.summary.all.replications == 1:
            yield setting.label, "simulated once: there are no confidence intervals."
        if cell.formula and cell.formula.not_possible_because:
            reason = cell.formula.not_possible_because.rstrip(".")
            yield f"{setting.label}, {cell.label}", f"no formula: {reason}."
        if cell.real and cell.real.scale != 1:
            said = f"the jobs of the real runs were scaled by {cell.real.scale:g}; their times are "
            yield setting.label, f"{said}printed in seconds of the trace."
        if cell.real and cell.real.sprint:
            yield setting.label, f"sprinting in the real runs: {cell.real.sprint.rstrip('.')}."


def _least_energy(setting: CellGroup) -> Iterator[KeyFigure]:
    baseline = setting.baseline
    before_j = baseline and baseline.total_energy_j
    cells = [cell for cell in setting.cells if cell is not baseline]
    known = [(cell.total_energy_j, cell) for cell in cells if cell.total_energy_j is not None]
    if baseline and before_j and known:
        energy_j, cell = min(known, key=lambda pair: pair[0])
        yield KeyFigure(
            f"Least energy ({cell.summary.energy_source}): {cell.label}",
            change(difference := relative_pct(before_j, energy_j)),
            f"{before_j / 1e3:,.1f} → {energy_j / 1e3:,.1f} kJ, against {baseline.label}",
            effect_of(difference),
        )


def _shortest(setting: CellGroup) -> Iterator[KeyFigure]:
    """Yield the best policy for the lowest class, and its effect on the highest."""
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
                effect_of(outcome.difference_pct("response_mean_s")),
            )
