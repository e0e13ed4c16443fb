"""The sizes of all shared libraries of each target, before and after."""

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.evaluation.libraries.size_columns import (
    REASON_COLUMNS,
    SIZE_COLUMNS,
    libraries_and_sizes,
    sizes_meaning,
)
from trimtab.evaluation.report.key_figures import KeyFigure, less
from trimtab.evaluation.report.section import SIZE, TargetSection
from trimtab.evaluation.report.tables import Column, Table, compared, target_row


class LibrariesTotal(TargetSection):
    """The total size of each target's libraries, and its reduction."""

    order = 110
    chapter = SIZE

    def make_tables(self) -> Iterator[Table]:
        """A row for each target."""
        yield compared(
            "libraries_total",
            "All shared libraries",
            "Original totals over every shared library that the workloads of the target load from "
            "the environment, and by how much debloating lowered them. "
            f"{sizes_meaning(self.measurements)}",
            (
                Column("libraries", "Libraries", 0),
                Column("libraries_debloated", "of them debloated", 0),
                *SIZE_COLUMNS,
                *REASON_COLUMNS,
            ),
            [
                target_row(target, libraries_and_sizes(target))
                for target in self.measurements.targets
            ],
        )

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the reductions of each target's code; files are among the sizes."""
        for row in self.tables[0].ours:
            name = str(row["name"])
            yield name, less("Bytes of CPU functions", row, "cpu_code", "mb")
            yield name, less("Number of functions", row, "functions")
            if row["gpu_code_mb"] is not None:
                yield name, less("Bytes of GPU code", row, "gpu_code", "mb")
                yield name, less("Elements of GPU code", row, "elements")

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each target."""
        return {"targets": self.tables[0].by_row("name")}
