"""What became of each library."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from trimtab.evaluation.libraries.size_columns import (
    GPU_SIZE_COLUMNS,
    REASON_COLUMNS,
    SIZE_COLUMNS,
    reduction_of,
    sizes,
)
from trimtab.evaluation.report.blocks import Fold, Untitled
from trimtab.evaluation.report.section import LIBRARIES, TargetSection
from trimtab.evaluation.report.tables import MB, Column, Row, Table

SHOWN = 25  # of each target, on the page


class ByLibrary(TargetSection):
    """Every library of every target, the one that lost most first."""

    order = 620
    chapter = LIBRARIES

    def make_tables(self) -> Iterator[Table]:
        """A row for each library of each target."""
        rows: list[Row] = []
        for target in self.measurements.targets:
            for rank, (_, library) in enumerate(by_reduction(target.libraries).iterrows(), start=1):
                frame = library.to_frame().T.infer_objects()
                rows.append(
                    {
                        "name": target.label,
                        "rank": rank,
                        "library": str(library["library"]),
                        **sizes(frame),
                        "saved_mb": float(library["saved_bytes"]) / MB,
                        "compressed_reduction_pct": reduction_of(frame, "compressed_before_bytes"),
                        "debloated": bool(library["debloated"]),
                        "reason": str(library["reason"] or ""),
                    }
                )
        yield Table(
            "libraries",
            "Library by library",
            "The library that lost most in the file system comes first; the rank is that of the "
            "Pareto chart. A library that was left alone says why.",
            (
                Column("name", "Target", in_report=False),
                Column("rank", "Rank", 0),
                Column("library", "Library"),
                Column("saved_mb", "Saved, MB", 2),
                *(self._of_one_library(column) for column in SIZE_COLUMNS),
                *REASON_COLUMNS,
                Column("compressed_reduction_pct", "compressed less, %", 1),
                Column("debloated", "Debloated"),
                Column("reason", "Why not"),
            ),
            tuple(rows),
        )

    def page(self) -> Iterator[Fold]:
        """Yield the libraries of each target that lost most; only the first are unfolded."""
        (table,) = self.tables
        for number, target in enumerate(self.measurements.targets):
            rows = tuple(row for row in table.rows if row["name"] == target.label)
            summary = f"{target.label}: {min(len(rows), SHOWN)} of {len(rows)} libraries"
            if len(rows) > SHOWN:
                summary += "; the CSV has all"
            yield Fold(summary, Untitled(replace(table, rows=rows[:SHOWN])), is_open=number == 0)

    def _of_one_library(self, column: Column) -> Column:
        """Return a column of sizes with more digits, of GPU code only where there is any."""
        return replace(
            column,
            decimals=2 if column.key.endswith("_mb") else column.decimals,
            in_report=self.measurements.have_gpu_code or column not in GPU_SIZE_COLUMNS,
        )


def by_reduction(libraries: pd.DataFrame) -> pd.DataFrame:
    """Return LIBRARIES with a column `saved_bytes`, the most saved in the file system first."""
    saved = libraries["disk_before_bytes"] - libraries["disk_after_bytes"]
    return libraries.assign(saved_bytes=saved).sort_values(
        ["saved_bytes", "library"], ascending=[False, True]
    )
