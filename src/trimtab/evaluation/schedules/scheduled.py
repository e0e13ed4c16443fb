"""What was scheduled, and what the report cannot say of it."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.schedules import CellGroup
from trimtab.evaluation.report.blocks import Prose, prose
from trimtab.evaluation.report.tables import MODELLED
from trimtab.evaluation.schedules.section import ScheduleSection


class Scheduled(ScheduleSection):
    """The cells, and how they were answered."""

    order = 30
    chapter = None

    def done(self) -> Iterator[Prose]:
        """Yield in words what was simulated and run."""
        yield prose(
            "scheduled.html.j2", schedules=self.schedules, targets=self.measurements.targets
        )

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield, in plain words, what was modelled, not possible or left out."""
        for setting in self.schedules.settings:
            yield from _of_setting(setting)
        for trace in self.schedules.traces:
            for reason, rows in trace.skipped.items():
                yield (
                    trace.trace,
                    f"{rows:,} rows of the recorded trace were left out: {reason.rstrip('.')}.",
                )


def _of_setting(setting: CellGroup) -> Iterator[tuple[str, str]]:
    if setting.baseline is None:
        yield setting.label, "no policy is the baseline, so there are no differences."
    for cell in setting.cells:
        if cell.summary.energy_source == MODELLED:
            yield setting.label, "energy of the schedules is modelled, not measured."
        if cell.totals.replications == 1:
            yield setting.label, "simulated once: there are no confidence intervals."
        if cell.formula and cell.formula.not_possible_because:
            reason = cell.formula.not_possible_because.rstrip(".")
            yield f"{setting.label}, {cell.label}", f"no formula: {reason}."
        if cell.real and cell.real.scale != 1:
            yield (
                setting.label,
                f"the jobs of the real runs were scaled by {cell.real.scale:g}; their times are "
                "printed in seconds of the trace.",
            )
        if cell.real and cell.real.sprint:
            yield setting.label, f"sprinting in the real runs: {cell.real.sprint.rstrip('.')}."
