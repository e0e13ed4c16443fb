"""Whether the slim environment gave the same output."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.blocks import Prose, Untitled, prose
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import HARDWARE_COLUMN, Column, Row, Table, Value

_KNOWN = ("workload", "repeats", "equal", "comparison")


class Verification(TargetSection):
    """Which outputs were equal; a failure stands above everything."""

    order = 20

    @property
    def passed(self) -> bool:
        """Whether every target passed with each of its workloads' outputs found equal."""
        return all(map(_passed, self.measurements.targets))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """A row for each verified workload of each target, with what verify.json says of it."""
        table = Table(
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
        return (table,)

    def top(self) -> Iterator[Prose]:
        """Yield the verdict."""
        failed = [row for row in self.tables[0].rows if row["equal"] is not True]
        yield prose(
            "verdict.html.j2", passed=self.passed, failed=failed, targets=self.measurements.targets
        )

    def done(self) -> Iterator[Untitled]:
        """Yield what was compared."""
        yield Untitled(self.tables[0])

    def metrics(self) -> Mapping[str, Any]:
        """Return 1 when every output was equal, else 0."""
        return {"verified": int(self.passed)}


def _passed(target: DebloatedTarget) -> bool:
    return (
        target.verify["passed"] is True
        and all(entry.get("equal") is True for entry in target.verify["workloads"])
        and {entry.get("workload") for entry in target.verify["workloads"]} >= {*target.workloads}
    )


def _rows(target: DebloatedTarget) -> Iterator[Row]:
    for entry in target.verify["workloads"]:
        details = [
            f"{key}: {value}"
            for key, value in sorted(entry.items())
            if key not in _KNOWN and isinstance(value, (str, int, float)) and value != ""
        ]
        row: dict[str, Value] = {"target": target.label, "hardware": target.hardware}
        row |= {key: entry.get(key) for key in _KNOWN}
        yield row | {"details": "; ".join(details)}
