"""Larger graphs of equal tasks, and larger tasks (Rocha's thesis, Figures 8.6 and 8.7)."""

from collections.abc import Iterator
from typing import Any

from trimtab.evaluation.protection.line_chart import lines_figure
from trimtab.evaluation.protection.published_run_times import authors_rows
from trimtab.evaluation.protection.section import (
    AUTHORS,
    DETAILS,
    PROGRAM,
    RUN,
    RUN_TIME,
    ProtectionSection,
    row_of,
    with_change,
)
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.tables import Column, Row, Table, compared

_SAME = ("name", "hardware", "variant", "enclave", "how", "workers")
# By table name: its title, the varied key, the constant key, the axis.
_SWEEPS = {
    "protection_graph_size": ("Size of the task graph", "size", "block", "Size"),
    "protection_input_size": ("Size of tasks' inputs", "block", "size", "Block"),
}
_CAPTIONS = {
    "protection_graph_size": "Blocks stay as they are, so that more tasks of the same kind are "
    "run. The authors' sizes are of other units: of matrix multiplication blocks, of the dot "
    "product thousands of numbers, of Stream with barriers millions.",
    "protection_input_size": "The size of the data stays, so that fewer and larger tasks are run. "
    "The authors' matrix multiplication has as many tasks with every block, and their Stream with "
    "barriers gives the number of parts in place of their size.",
}


class GraphSizes(ProtectionSection):
    """Run time by the size of graphs and of inputs, on one worker."""

    order = 984

    def rows(self, swept: str, same: str) -> list[Row]:
        """Return the set-ups with varied `swept` and constant `same`, then the authors'."""
        found = self.of_one_policy(self.set_ups)
        ours = [
            row_of(one)
            for one in found.itertuples()
            if one.workers == 1
            and not (facts := self.programs[str(one.task_program)]).macro
            and getattr(one, same) == getattr(facts, same)
        ]
        theirs = [{**row, "how": AUTHORS} for row in authors_rows(self.published_names, swept)]
        return list(with_change([*ours, *theirs], _SAME, (swept, min)))

    def make_tables(self) -> Iterator[Table]:
        """Yield a table for each sweep."""
        for name, (title, swept, same, _) in _SWEEPS.items():
            yield compared(
                name,
                title,
                f"{_CAPTIONS[name]} The change is from the least.",
                (
                    *RUN,
                    Column("size", "Size", 0),
                    Column("block", "Block", 0),
                    Column("tasks", "Tasks", 0),
                    RUN_TIME,
                    Column("change_pct", "Change, %", 0),
                    DETAILS,
                ),
                self.rows(swept, same),
                who=PROGRAM,
            )

    def make_figures(self) -> Iterator[Figure]:
        """Yield a figure for each sweep."""
        for name, (title, swept, same, axis) in _SWEEPS.items():
            rows: list[Any] = self.rows(swept, same)
            yield from lines_figure(name, title, _CAPTIONS[name], rows, swept, axis)
