"""The schedules: methods, best policies and caveats."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trimtab.evaluation.inputs.schedules import Cell, CellGroup
from trimtab.evaluation.report.blocks import Prose, prose
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.key_figures import About, KeyFigure
from trimtab.evaluation.report.tables import MODELLED, shown
from trimtab.evaluation.schedules.differences import energy_difference, response_difference
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
        """Yield the best policies of each setting, or why there is none."""
        for setting in self.schedules.settings:
            for card in (*_unstable_baseline(setting), *_cards(setting)):
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
        if not cell.is_stable:
            name, reason = f"{setting.label}, {cell.label}", cell.summary.unstable_because
            yield name, f"unstable: {reason}; no difference is given to or from it."
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


def _unstable_baseline(setting: CellGroup) -> Iterator[KeyFigure]:
    """Yield the load of a baseline with which nothing can be compared."""
    baseline = setting.baseline
    if baseline and not baseline.is_stable:
        load = baseline.summary.load
        yield KeyFigure(
            f"Load of the baseline {baseline.label}",
            "infinite" if load is None else shown(load, 2),
            "unstable: times and energy depend on the number of jobs; nothing is compared with it",
        )


def _cards(setting: CellGroup) -> Iterator[KeyFigure]:
    """Yield a card for the policy of least energy, and for that of least response.

    The response is of the lowest class. If one policy has both, there is one card.
    """
    cells = {cell.summary.policy: cell for cell in setting.cells if setting.compared_with(cell)}
    lowest = setting.classes[-1]
    energies = [(cell.total_energy_j, policy) for policy, cell in cells.items()]
    responses = [
        (cell.classes[lowest].response_mean_s, policy)
        for policy, cell in cells.items()
        if lowest in cell.classes
    ]
    least: dict[str, list[str]] = {}
    for what, found in (("energy", energies), (f"response of {lowest}", responses)):
        if known := [(value, policy) for value, policy in found if value is not None]:
            least.setdefault(min(known)[1], []).append(what)
    for policy, of in least.items():
        cell = cells[policy]
        if figures := tuple(_figures(cell, setting)):
            yield replace(figures[0], title=_title(cell, of, figures), also=figures[1:])


def _title(cell: Cell, least: list[str], figures: Sequence[KeyFigure]) -> str:
    """Return what a policy is best in, as far as that is sure, and what it makes worse."""
    labels = [(each.effect, each.label[:1].lower() + each.label[1:]) for each in figures]
    better, worse = (
        [label for effect, label in labels if effect is wanted]
        for wanted in (Effect.BETTER, Effect.WORSE)
    )
    sure = [what for what in least if any(what in label for label in better)]
    parts = [("least", sure), ("worse", worse)]
    said = [f"{word} {' and '.join(found)}" for word, found in parts if found]
    return ": ".join(filter(None, [cell.label, ", but ".join(said)]))


def _figures(cell: Cell, setting: CellGroup) -> Iterator[KeyFigure]:
    """Yield the energy of a cell, and the responses of its lowest and highest class."""
    baseline = setting.compared_with(cell)
    assert baseline
    against = f", against {baseline.label}"
    if energy := energy_difference(baseline, cell):
        source = cell.summary.energy_source
        found = energy.figure(f"Energy ({source})", "kJ", against, 1e3)
        yield replace(found, about=About.ENERGY)
    for name in dict.fromkeys((setting.classes[-1], setting.classes[0])):
        if name in baseline.classes and name in cell.classes:
            response = response_difference(baseline.classes[name], cell.classes[name])
            if response:
                found = response.figure(f"Mean response of {name}", "s", against)
                yield replace(found, about=About.RESPONSE)
