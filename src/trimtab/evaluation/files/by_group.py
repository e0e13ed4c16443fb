"""The bytes of environments, kept and removed: by kind, by package, and reasons to keep."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import altair as alt

from trimtab.evaluation.files.fates import LARGE_BYTES, fates, totals
from trimtab.evaluation.report.blocks import Block, Fold, Untitled
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    HIGHLIGHT,
    Figure,
    data,
    hover,
    in_order,
    scaled,
    specification,
)
from trimtab.evaluation.report.section import FILES, TargetSection
from trimtab.evaluation.report.tables import HARDWARE_COLUMN, MB, Column, Row, Table, target_row

SHOWN = 100  # packages and files of each target on the page
_COLUMNS = (
    Column("files", "Files", 0),
    Column("files_left", "left", 0),
    Column("before_mb", "Before, MB", 1),
    Column("went_mb", "went with files, MB", 1),
    Column("inside_mb", "went from libraries, MB", 1),
    Column("after_mb", "After, MB", 1),
    Column("reduction_pct", "less, %", 1),
)
_FATES = {"after_mb": "left", "inside_mb": "went from libraries", "went_mb": "went with files"}
_OF_NONE = "of no package"


class FilesByGroup(TargetSection):
    """The files of every environment with removed files."""

    order = 50
    chapter = FILES

    @property
    def applies(self) -> bool:
        """Whether any environment has removed files."""
        return any(not target.files.empty for target in self.measurements.targets)

    def make_tables(self) -> Iterator[Table]:
        """All files, then by kind, by package, by reason to keep, and large removed ones."""
        yield self._grouped(
            "files_total",
            "All files",
            "Lengths of regular files, each once: links are none, and names of one file are one.",
            "",
        )
        yield self._grouped(
            "files_by_kind",
            "Files by kind",
            "A loaded library lost its unused code. Libraries that no run loaded were removed, "
            "or most of their content. Python modules and data were removed if no run read "
            "them.",
            "kind",
        )
        yield self._grouped(
            "files_by_package", "Files by package", "As dpkg, apk, pip and conda say.", "package"
        )
        yield self._grouped(
            "files_kept_because",
            "Why files stay",
            "What would bring more: the files that stay, each by the first of the reasons that"
            " keep it.",
            "reason",
        )
        yield self._large()

    def make_figures(self) -> Iterator[Figure]:
        """Bars of each kind's bytes: kept, removed with files, removed within libraries."""
        kinds = self.tables[1]
        values = [
            {
                "target": row["name"],
                "kind": row["kind"],
                "fate": fate,
                "mb": row[key],
                "order": order,
            }
            for row in kinds.rows
            for order, (key, fate) in enumerate(_FATES.items())
        ]
        panels = [
            alt.Chart(data([value for value in values if value["target"] == target]))
            .mark_bar()
            .encode(
                y=alt.Y("kind:N", sort=in_order(value["kind"] for value in values), title=None),
                x=alt.X("sum(mb):Q", title="MB", stack="zero"),
                color=scaled(alt.Color, "fate:N", _FATES.values(), (AFTER, HIGHLIGHT, BEFORE)),
                order="order:Q",
                tooltip=hover("kind", "fate", mb=",.1f"),
            )
            .properties(width=560, title=str(target))
            for target in in_order(value["target"] for value in values)
        ]
        yield Figure(
            "files_by_kind",
            "Files by kind, before and after",
            "All files of each environment, by kind.",
            specification(alt.vconcat(*panels, spacing=24)),
        )

    def page(self) -> Iterator[Block]:
        """Yield the totals, then the figure, then longer tables, folded."""
        total, kinds, packages, reasons, large = self.tables
        yield total
        yield from self.figures
        yield kinds
        yield reasons
        for table in (packages, large):
            for name in in_order(row["name"] for row in table.rows):
                rows = tuple(row for row in table.rows if row["name"] == name)
                summary = f"{name}, {table.title.lower()}: {min(len(rows), SHOWN)} of {len(rows)}"
                if len(rows) > SHOWN:
                    summary += "; the CSV has all"
                yield Fold(summary, Untitled(replace(table, rows=rows[:SHOWN])))

    def metrics(self) -> Mapping[str, Any]:
        """Return the totals of each target's files."""
        return {
            "targets": {
                name: {f"all_files_{key}": value for key, value in numbers.items()}
                for name, numbers in self.tables[0].by_row("name").items()
            }
        }

    def _grouped(self, name: str, title: str, caption: str, key: str) -> Table:
        """Return a table with a row for each value of a column of `fates`, the largest first."""
        rows: list[Row] = []
        for target in self.measurements.targets:
            files = fates(target)
            if key == "reason":
                files = files[files["kept"]]
            groups = files.groupby(key) if key else [("", files)]
            mine = [
                target_row(
                    target, {**({key: str(group) or _OF_NONE} if key else {}), **totals(part)}
                )
                for group, part in groups
                if not part.empty
            ]
            rows += sorted(mine, key=lambda row: -float(row["before_mb"] or 0))
        column = (Column(key, {"reason": "Because"}.get(key, key.capitalize())),) if key else ()
        return Table(
            name,
            title,
            caption,
            (Column("name", "Target"), HARDWARE_COLUMN, *column, *_COLUMNS),
            tuple(rows),
        )

    def _large(self) -> Table:
        rows: list[Row] = []
        for target in self.measurements.targets:
            files = fates(target)
            files = files[files["went_bytes"] > LARGE_BYTES]
            files = files.sort_values(["went_bytes", "path"], ascending=[False, True])
            for path, package, kind, size in files[
                ["path", "package", "kind", "went_bytes"]
            ].values:
                values = {"path": path, "package": package, "kind": kind, "went_mb": size / MB}
                rows.append(target_row(target, values))
        return Table(
            "large_files_gone",
            "Files above 10 MB that went",
            "Each file once, as links and further names are no files.",
            (
                Column("name", "Target"),
                HARDWARE_COLUMN,
                Column("path", "File"),
                Column("package", "Package"),
                Column("kind", "Kind"),
                Column("went_mb", "MB", 1),
            ),
            tuple(rows),
        )
