"""The gain of a cluster by debloating: equal jobs in original and slim environments."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.schedules import Cell, relative_pct
from trimtab.evaluation.report.key_figures import KeyFigure, change, effect_of
from trimtab.evaluation.report.tables import shown
from trimtab.evaluation.schedules.section import ScheduleSection
from trimtab.records.trace_facts import TraceFacts

_ENVIRONMENTS = ("original", "debloated")


class OriginalAndDebloated(ScheduleSection):
    """Mean response and energy of a cluster's jobs before and after, under each policy."""

    order = 685
    chapter = None

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield a card or two for each policy with both traces."""
        for original, debloated in self._pairs():
            title = f"{original.trace} → {debloated.trace} on {original.cluster}"
            remark = _said_of_work(debloated)
            for before in self._cells(original):
                for after in self._cells(debloated):
                    if before.summary.policy == after.summary.policy:
                        for card in _cards(before, after, remark):
                            yield title, card

    def _pairs(self) -> Iterator[tuple[TraceFacts, TraceFacts]]:
        """Yield the traces of the same workloads on a cluster, original and debloated."""
        found: dict[tuple[str, frozenset[tuple[str, str]]], dict[str, TraceFacts]] = {}
        for trace in self.schedules.traces:
            environments = {each.environment for each in trace.measured.values()}
            workloads = {(name, each.workload) for name, each in trace.measured.items()}
            if len(environments) == 1:
                same = found.setdefault((trace.cluster, frozenset(workloads)), {})
                same.setdefault(environments.pop(), trace)
        for traces in found.values():
            if traces.keys() >= set(_ENVIRONMENTS):
                original, debloated = (traces[environment] for environment in _ENVIRONMENTS)
                yield original, debloated

    def _cells(self, trace: TraceFacts) -> list[Cell]:
        setting = (trace.cluster, trace.trace)
        return [cell for cell in self.schedules.cells if cell.setting == setting]


def _said_of_work(debloated: TraceFacts) -> str:
    """Return a remark if the jobs' service times do not clearly differ; else nothing."""
    same = all("work_s" in each.no_clear_change for each in debloated.measured.values())
    return "; service times do not clearly differ and are the same in both" if same else ""


def _cards(before: Cell, after: Cell, remark: str) -> Iterator[KeyFigure]:
    energies_j = (before.total_energy_j, after.total_energy_j)
    responses_s = (before.summary.all.response_mean_s, after.summary.all.response_mean_s)
    for what, unit, unit_size, (was, now) in (
        ("Mean response", "s", 1.0, responses_s),
        (f"Energy ({after.summary.energy_source})", "kJ", 1e3, energies_j),
    ):
        difference = relative_pct(was, now)
        if was is None or now is None or difference is None:
            continue
        label = f"{what}, debloated: {after.label}"
        detail = f"{shown(was / unit_size, 2)} → {shown(now / unit_size, 2)} {unit}{remark}"
        yield KeyFigure(label, change(difference), detail, effect_of(difference))
