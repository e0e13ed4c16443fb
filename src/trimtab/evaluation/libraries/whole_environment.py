"""The size of the whole environment before and after, and its part that no run loaded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.libraries.size_columns import compressed_sizes
from trimtab.evaluation.outcome.section import weighed
from trimtab.evaluation.outcome.weight import NOT_LOADED, UNREAD
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    Figure,
    data,
    hover,
    scaled,
    specification,
)
from trimtab.evaluation.report.key_figures import About, KeyFigure, less
from trimtab.evaluation.report.section import FILES, TargetSection
from trimtab.evaluation.report.tables import HARDWARE_COLUMN, MB, Column, Row, Table, target_row
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.outcome import BytesBeforeAfter, EnvironmentPart

_STAYS, _WENT = "stays", "went"
_UNUSED = {NOT_LOADED, *UNREAD}


class WholeEnvironment(TargetSection):
    """The built environments, on disk."""

    order = 40
    chapter = FILES

    @property
    def applies(self) -> bool:
        """Whether any environment was built."""
        return any(target.built for target in self.measurements.targets)

    def make_tables(self) -> Iterator[Table]:
        """A row for each target."""
        yield Table(
            "whole_environment",
            "The whole environment",
            "On disk, each file once: the whole environment, the part that the slim one shares "
            "with the original (common files and blocks), and the libraries that no run loaded. "
            "Compressed, the files are one stream (zstd, level 3).",
            (
                Column("name", "Target"),
                HARDWARE_COLUMN,
                Column("before_mb", "Before, MB", 1),
                Column("after_mb", "After, MB", 1),
                Column("shared_mb", "of it shared, MB", 1),
                Column("compressed_before_mb", "Compressed, MB", 1),
                Column("compressed_after_mb", "after, MB", 1),
                Column("loaded_before_mb", "Loaded libraries, MB", 1),
                Column("loaded_after_mb", "after, MB", 1),
                Column("unloaded", "Not loaded", 0),
                Column("unloaded_before_mb", "Not loaded, MB", 1),
                Column("unloaded_after_mb", "after, MB", 1),
            ),
            tuple(
                _row(target, target.built)
                for target in self.measurements.targets
                if target.built is not None
            ),
        )

        yield Table(
            "environment_parts",
            "What it consists of",
            "On disk. The parts add up to the whole; a file of several names counts once. A file is"
            " read where a run opened, mapped or executed it.",
            (
                Column("name", "Target"),
                HARDWARE_COLUMN,
                Column("part", "Part"),
                Column("files", "Files", 0),
                Column("before_mb", "Before, MB", 1),
                Column("after_mb", "After, MB", 1),
                Column("reduction_pct", "less, %", 1),
            ),
            tuple(
                {
                    "name": target.label,
                    "hardware": target.hardware,
                    "part": part.name,
                    "files": part.files,
                    "before_mb": part.before_bytes / MB,
                    "after_mb": part.after_bytes / MB,
                    "reduction_pct": part.less_pct,
                }
                for target, environment in weighed(self.measurements)
                for part in environment.parts
            ),
        )

    def make_figures(self) -> Iterator[Figure]:
        """The parts of all environments together."""
        yield _parts_figure([part for _, each in weighed(self.measurements) for part in each.parts])

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the whole on disk and compressed, then its parts."""
        for target, environment in weighed(self.measurements):
            whole = "Whole image" if target.is_image else "Whole environment"
            size = _card(f"{whole}, on disk", environment.disk)
            yield target.label, replace(size, about=About.SIZE)
            if environment.compressed:
                packed = _card(f"{whole}, compressed", environment.compressed)
                yield target.label, replace(packed, about=About.PACKED)
            for part in environment.parts:
                if part.name in _UNUSED and part.before_bytes:
                    yield target.label, _card(part.name.capitalize(), part)

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of each target."""
        return {"targets": self.tables[0].by_row("name")}


def _card(label: str, change: BytesBeforeAfter) -> KeyFigure:
    row = {"size_mb": change.before_bytes / MB, "size_reduction_pct": change.less_pct}
    return less(label, row, "size", "mb")


def _row(target: DebloatedTarget, built: BuiltEnvironment) -> Row:
    unloaded = target.manifest.unloaded.values()
    loaded = target.libraries[["disk_before_bytes", "disk_after_bytes"]].sum()
    values = {
        "before_mb": built.before_bytes / MB,
        "after_mb": built.after_bytes / MB,
        "shared_mb": built.shared_bytes / MB,
        **compressed_sizes(target),
        "loaded_before_mb": float(loaded["disk_before_bytes"]) / MB,
        "loaded_after_mb": float(loaded["disk_after_bytes"]) / MB,
        "unloaded": len(unloaded),
        "unloaded_before_mb": sum(library.disk_before_bytes for library in unloaded) / MB,
        "unloaded_after_mb": sum(library.disk_after_bytes for library in unloaded) / MB,
    }
    return target_row(target, values)


def _parts_figure(parts: Sequence[EnvironmentPart]) -> Figure:
    """Return what stays and what went of each part, a bar each."""
    names = list(dict.fromkeys(part.name for part in parts))
    values = [
        {"part": name, "what": what, "mb": size / MB}
        for name in names
        for of in [[part for part in parts if part.name == name]]
        for after in [sum(part.after_bytes for part in of)]
        for what, size in (
            (_STAYS, after),
            (_WENT, max(0, sum(part.before_bytes for part in of) - after)),
        )
    ]
    bars = (
        alt.Chart(data(values))
        .mark_bar()
        .encode(
            y=alt.Y("part:N", sort=names, title=None),
            x=alt.X("sum(mb):Q", title="MB on disk"),
            color=scaled(alt.Color, "what:N", (_STAYS, _WENT), (AFTER, BEFORE)),
            order=alt.Order("what:N", sort="ascending"),
            tooltip=hover("part", "what", mb=",.1f"),
        )
        .properties(width=230, height=alt.Step(26))
    )
    return Figure(
        "environment_parts",
        "What went, and what stays",
        "Of the environments on disk, by part.",
        specification(bars),
    )
