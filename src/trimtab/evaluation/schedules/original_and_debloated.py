"""The gain of a cluster by debloating: equal jobs in original and slim environments."""

from collections.abc import Iterator
from dataclasses import replace

from trimtab.evaluation.inputs.schedules import Cell
from trimtab.evaluation.report.key_figures import About, KeyFigure
from trimtab.evaluation.schedules.differences import energy_difference, response_difference
from trimtab.evaluation.schedules.section import ScheduleSection
from trimtab.records.trace_facts import TraceFacts

_ENVIRONMENTS = ("original", "debloated")


class OriginalAndDebloated(ScheduleSection):
    """Mean response and energy of a cluster's jobs before and after, under each policy."""

    order = 685
    chapter = None

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield a card for each policy with both traces, if the queues of both are stable."""
        for original, debloated in self._pairs():
            title = f"{original.trace} → {debloated.trace} on {original.cluster}"
            remark = _said_of_work(debloated)
            for before in self._cells(original):
                for after in self._cells(debloated):
                    same = before.summary.policy == after.summary.policy
                    if same and (card := _card(before, after, remark)):
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


def _card(before: Cell, after: Cell, remark: str) -> KeyFigure | None:
    response = response_difference(before.summary.all, after.summary.all)
    if response is None or not (before.is_stable and after.is_stable):
        return None
    energy = energy_difference(before, after)
    source = after.summary.energy_source
    also: tuple[KeyFigure, ...] = ()
    if energy:
        found = energy.figure(f"Energy ({source})", "kJ", remark, 1e3)
        also = (replace(found, about=About.ENERGY),)
    card = response.figure("Mean response", "s", remark)
    title = f"{after.label}, debloated"
    return replace(card, title=title, also=also, about=About.RESPONSE)
