"""Whether the slim environment gave the same output."""

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.blocks import Prose, Untitled, prose
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import HARDWARE_COLUMN, Column, Row, Table


class Verification(TargetSection):
    """Which outputs were equal; a failure stands above everything."""

    order = 20

    @property
    def passed(self) -> bool:
        """Whether every target passed with each of its workloads' outputs found equal."""
        return all(map(_passed, self.measurements.targets))

    def make_tables(self) -> Iterator[Table]:
        """A row for each verified workload of each target, with what verify.json says of it."""
        yield Table(
            "verification",
            "Was the output the same?",
            "Each workload ran again in the slim environment, and what it wrote was compared with "
            "what it writes in the original one.",
            (
                Column("workload", "Workload"),
                Column("target", "Target"),
                HARDWARE_COLUMN,
                Column("repeats", "Runs", 0),
                Column("equal", "Equal"),
                Column("comparison", "Compared by"),
                Column("details", "Details"),
            ),
            tuple(row for target in self.measurements.targets for row in _rows(target)),
        )

    def top(self) -> Iterator[Prose]:
        """Yield the verdict."""
        yield prose("verdict.html.j2", passed=self.passed, targets=self.measurements.targets)

    def done(self) -> Iterator[Untitled]:
        """Yield what was compared."""
        yield Untitled(self.tables[0])

    def metrics(self) -> Mapping[str, Any]:
        """Return 1 when every output was equal, else 0."""
        return {"verified": int(self.passed)}


def _passed(target: DebloatedTarget) -> bool:
    verified = {entry.workload for entry in target.verdict.workloads if entry.equal}
    return target.verdict.passed and verified >= {*target.workloads}


def _rows(target: DebloatedTarget) -> Iterator[Row]:
    for entry in target.verdict.workloads:
        yield {
            "target": target.label,
            "hardware": target.hardware,
            "workload": entry.workload,
            "repeats": entry.repeats,
            "equal": entry.equal,
            "comparison": entry.comparison,
            "details": f"equal_runs: {entry.equal_runs}",
        }
