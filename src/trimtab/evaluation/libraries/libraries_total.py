"""All shared libraries of a target together."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from trimtab.evaluation.libraries.size_columns import (
    REASON_COLUMNS,
    SIZE_COLUMNS,
    sizes,
    sizes_meaning,
)
from trimtab.evaluation.report.chapters import SIZE
from trimtab.evaluation.report.key_figures import KeyFigure, less
from trimtab.evaluation.report.metrics import by_row
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    is_published,
    published_rows,
)


class LibrariesTotal(TargetSection):
    """What all libraries of each target were, and by how much that fell."""

    order = 110
    chapter = SIZE

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """A row for each target."""
        rows: list[Row] = [
            {
                "name": target.label,
                "hardware": target.hardware,
                "libraries": len(target.libraries),
                "libraries_debloated": int(target.libraries["debloated"].sum()),
                **sizes(target.libraries),
                "source": MEASURED,
            }
            for target in self.measurements.targets
        ]
        table = Table(
            "libraries_total",
            titled("All shared libraries", "libraries_total"),
            "Original totals over every shared library that the workloads of the target load from "
            "the environment, and by how much debloating lowered them. "
            f"{sizes_meaning(self.measurements)}",
            (
                Column("name", "Target"),
                HARDWARE_COLUMN,
                Column("libraries", "Libraries", 0),
                Column("libraries_debloated", "of them debloated", 0),
                *SIZE_COLUMNS,
                *REASON_COLUMNS,
                *SOURCE_COLUMNS,
            ),
            (*rows, *published_rows("libraries_total")),
        )
        return (table,)

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield what went of each target's code; the files are those of the sizes."""
        for row in self.tables[0].rows:
            if not is_published(row):
                name = str(row["name"])
                yield name, less("Bytes of CPU functions", row, "cpu_code", "mb")
                yield name, less("Number of functions", row, "functions")
                if row["gpu_code_mb"] is not None:
                    yield name, less("Bytes of GPU code", row, "gpu_code", "mb")
                    yield name, less("Elements of GPU code", row, "elements")

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each target."""
        return {"targets": by_row(self.tables[0], "name")}
