"""Held-out inputs: their misses, and whether these came back."""

from collections.abc import Iterator
from typing import Any

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.section import UNSEEN, TargetSection
from trimtab.evaluation.report.tables import Column, Row, Table

_NAMED = 5  # named in a cell; all are in verify.json


class HeldOutInputs(TargetSection):
    """The result of each held-out input in the slim environment, under each behaviour."""

    order = 510
    chapter = UNSEEN

    @property
    def applies(self) -> bool:
        """Whether any target was verified with held-out inputs."""
        return any(target.verdict.held_out for target in self.measurements.targets)

    def make_tables(self) -> Iterator[Table]:
        """A row for each input and behaviour; exit codes if an input has its own."""
        rows = tuple(row for target in self.measurements.targets for row in _rows(target))
        has_own_end = any(row["exit_code"] is not None for row in rows)
        yield Table(
            "held_out",
            "Inputs that were not profiled",
            "Each ran once in the original environment, and in the slim one under each behaviour: "
            "strict ends where something removed is asked for, restore and report put it back. "
            "Strict names the first miss, restore all."
            + (
                " An exit code of its own, not the workload's, is that in the original environment."
                if has_own_end
                else ""
            ),
            (
                Column("target", "Target"),
                Column("workload", "Workload"),
                Column("input", "Input"),
                Column("behaviour", "Behaviour"),
                Column("missed", "Missed", 0),
                Column("equal", "Output equal"),
                Column("ended", "Ended otherwise"),
                *([Column("exit_code", "Exit code of its own")] if has_own_end else []),
                Column("names", "What was missed"),
            ),
            rows,
        )

    def metrics(self) -> dict[str, Any]:
        """Return the number of inputs, and of those for which everything came back."""
        inputs = [held for target in self.measurements.targets for held in target.verdict.held_out]
        right = sum(held.is_right for held in inputs)
        return {"held_out": {"inputs": len(inputs), "right": right}}


def _rows(target: DebloatedTarget) -> Iterator[Row]:
    for held in target.verdict.held_out:
        if held.problem:
            yield {
                "target": target.label,
                "workload": held.workload,
                "input": held.name,
                "behaviour": "",
                "missed": None,
                "equal": None,
                "ended": f"cannot be judged: {held.problem.splitlines()[0]}",
                "exit_code": None,
                "names": "",
            }
        for run in held.runs:
            names = held.names if run.behaviour == "restore" else []
            more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
            yield {
                "target": target.label,
                "workload": held.workload,
                "input": held.name,
                "behaviour": run.behaviour,
                "missed": run.missed,
                "equal": run.equal,
                "ended": run.ended,
                "exit_code": held.own_exit_code,
                "names": "; ".join([*names[:_NAMED], *more]),
            }
