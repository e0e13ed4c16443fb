"""The sizes before and after: file length, file system, compressed and resident."""

from collections.abc import Iterator

import altair as alt

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    Figure,
    data,
    hover,
    in_order,
    scaled,
    specification,
)
from trimtab.evaluation.report.key_figures import KeyFigure, less
from trimtab.evaluation.report.section import SIZE, TargetSection
from trimtab.evaluation.report.tables import MB, MEASURED, Column, Row, Table, reduction_pct

_ALL, _DEBLOATED = "all libraries", "debloated"
_FILE_LENGTH, _FILE_SYSTEM, _COMPRESSED = "file length", "file system", "compressed (zstd)"
_KINDS = {
    _FILE_LENGTH: ("size_before_bytes", "size_after_bytes"),
    _FILE_SYSTEM: ("disk_before_bytes", "disk_after_bytes"),
    _COMPRESSED: ("compressed_before_bytes", "compressed_after_bytes"),
}
_BARS_PX, _LABEL_PX = 300, 56  # fits on a phone
_CARDS = {
    _FILE_SYSTEM: "Loaded libraries, on disk",
    _COMPRESSED: "Loaded libraries, compressed",
}


class LibrarySizes(TargetSection):
    """The sizes of each target's libraries, in all kinds."""

    order = 100
    chapter = SIZE

    def make_tables(self) -> Iterator[Table]:
        """A row for each target, kind of size, and measured object."""
        yield Table(
            "sizes",
            "Sizes before and after",
            "File length is the size in a listing. File system is the allocated size, without "
            "holes. Compressed is the size of an image layer of the libraries. Resident are the "
            "libraries' pages in a run's memory.",
            (
                Column("name", "Target"),
                Column("kind", "Size"),
                Column("scope", "Over"),
                Column("before_mb", "Before, MB", 1),
                Column("after_mb", "After, MB", 1),
                Column("reduction_pct", "Less, %", 1),
                Column("source", "Source"),
            ),
            tuple(row for target in self.measurements.targets for row in _rows(target)),
        )

    def make_figures(self) -> Iterator[Figure]:
        """The sizes of all libraries as bars."""
        yield _figure(self.tables[0])

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the sizes in the file system and compressed."""
        for row in self.tables[0].rows:
            kind = str(row["kind"])
            if row["scope"] == _ALL and kind in _CARDS:
                changed = {"size_mb": row["before_mb"], "size_reduction_pct": row["reduction_pct"]}
                yield str(row["name"]), less(_CARDS[kind], changed, "size", "mb")


def _rows(target: DebloatedTarget) -> Iterator[Row]:
    debloated = target.libraries[target.libraries["debloated"]]
    for scope, frame in ((_ALL, target.libraries), (_DEBLOATED, debloated)):
        for kind, (before, after) in _KINDS.items():
            yield _row(target, kind, scope, int(frame[before].sum()), int(frame[after].sum()))
    for workload, resident in target.verdict.resident_bytes.items():
        yield _row(target, "resident", workload, resident.original, resident.debloated)


def _row(target: DebloatedTarget, kind: str, scope: str, before: int, after: int) -> Row:
    return {
        "name": target.label,
        "kind": kind,
        "scope": scope,
        "before_mb": before / MB,
        "after_mb": after / MB,
        "reduction_pct": reduction_pct(before, after),
        "source": MEASURED,
    }


def _figure(sizes: Table) -> Figure:
    values = [
        {
            "target": row["name"],
            "size": _size_name(row),
            "state": state,
            "mb": row[key],
            "order": order,
        }
        for row in sizes.rows
        if row["scope"] != _DEBLOATED and row["kind"] != _FILE_LENGTH
        for order, (state, key) in enumerate((("before", "before_mb"), ("after", "after_mb")))
    ]
    most = max((float(value["mb"] or 0) for value in values), default=0)
    scale = alt.Scale(domain=[0, most * (1 + _LABEL_PX / _BARS_PX)], nice=False)
    base = alt.Chart(data(values)).encode(
        y=alt.Y("state:N", sort=["before", "after"], title=None, axis=None),
        x=alt.X("mb:Q", title="MB", scale=scale, axis=alt.Axis(tickCount=4)),
    )
    bars = base.mark_bar(height=14).encode(
        color=scaled(alt.Color, "state:N", ("before", "after"), (BEFORE, AFTER)),
        tooltip=hover("target", "size", "state", mb=",.1f"),
    )
    labels = base.mark_text(align="left", dx=4).encode(text=alt.Text("mb:Q", format=",.1f"))
    rows = alt.Row(
        "size:N",
        sort=in_order(value["size"] for value in values),
        title=None,
        header=alt.Header(labelOrient="top", labelAnchor="start", labelAlign="left"),
    )
    panels = [
        alt.layer(bars, labels)
        .transform_filter(alt.FieldEqualPredicate(field="target", equal=target))
        .properties(width=_BARS_PX, height=40)
        .facet(row=rows, spacing=6, title=alt.TitleParams(str(target)))
        for target in in_order(value["target"] for value in values)
    ]
    return Figure(
        "sizes",
        "Sizes before and after",
        "All shared libraries of each target: allocated in the file system, compressed, and "
        "resident in a run's memory.",
        specification(alt.vconcat(*panels, spacing=24)),
    )


def _size_name(row: Row) -> str:
    """Return the kind of size, with the workload if the target has several."""
    own = row["kind"] != "resident" or row["scope"] == row["name"]
    return str(row["kind"]) if own else f"{row['kind']}, {row['scope']}"
