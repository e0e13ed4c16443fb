"""A treemap of each environment's kept and removed bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.outcome.areas import Box, squarified
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    HIGHLIGHT,
    Figure,
    data,
    hover,
    scaled,
    specification,
)
from trimtab.evaluation.report.section import FILES, TargetSection
from trimtab.evaluation.report.tables import MB
from trimtab.records.outcome import mb

_WIDTH, _HEIGHT = 740, 400
_LETTER_PX, _LINE_PX = 6.4, 15
_LARGEST = 12  # libraries with their own area
_USED, _UNUSED, _GONE = "left, used", "left, though no run used it", "gone"


@dataclass(frozen=True)
class Leaf:
    """A part of an environment: its bytes before, and those left, used or not."""

    group: str
    name: str
    before_bytes: int
    after_bytes: int
    is_used: bool


class Treemap(TargetSection):
    """The parts of each environment as areas."""

    order = 45
    chapter = FILES

    @property
    def applies(self) -> bool:
        """Whether any environment was built."""
        return any(target.built for target in self.measurements.targets)

    def make_figures(self) -> Iterator[Figure]:
        """A panel for each target."""
        targets = [target for target in self.measurements.targets if target.built]
        panels = [
            _panel(target.label, leaves) for target in targets if (leaves := leaves_of(target))
        ]
        if panels:
            yield Figure(
                "treemap",
                "Where the bytes are, and where they went",
                "Areas are bytes on disk before: of each loaded library, and of files that no "
                "run loaded or read. Grey was removed; orange was kept although nothing used "
                "it.",
                specification(alt.vconcat(*panels, spacing=24)),
            )


def leaves_of(target: DebloatedTarget) -> list[Leaf]:
    """Return the parts of an environment, by group, the largest group and part first.

    Without knowledge of read files, there are only libraries.
    """
    leaves = [*_loaded(target), *_not_loaded(target), *_others(target)]
    sizes: dict[str, int] = {}
    for leaf in leaves:
        sizes[leaf.group] = sizes.get(leaf.group, 0) + leaf.before_bytes
    leaves = [leaf for leaf in leaves if leaf.before_bytes > 0]
    return sorted(leaves, key=lambda leaf: (-sizes[leaf.group], leaf.group, -leaf.before_bytes))


def _loaded(target: DebloatedTarget) -> Iterator[Leaf]:
    rows = target.libraries.sort_values("disk_before_bytes", ascending=False, kind="stable")
    sizes = rows[["library", "disk_before_bytes", "disk_after_bytes"]]
    for name, before, after in sizes[:_LARGEST].itertuples(index=False):
        yield Leaf("loaded libraries", name.rpartition("/")[2], int(before), int(after), True)
    if rest := len(sizes) - _LARGEST if len(sizes) > _LARGEST else 0:
        before, after = sizes[_LARGEST:][["disk_before_bytes", "disk_after_bytes"]].sum()
        yield Leaf("loaded libraries", f"{rest:,} smaller", int(before), int(after), True)


def _not_loaded(target: DebloatedTarget) -> Iterator[Leaf]:
    found = target.manifest.unloaded
    ranked = sorted(found.items(), key=lambda pair: -pair[1].disk_before_bytes)
    for name, size in ranked[:_LARGEST]:
        sizes = (size.disk_before_bytes, size.disk_after_bytes)
        yield Leaf("libraries never loaded", name.rpartition("/")[2], *sizes, is_used=False)
    if rest := [size for _, size in ranked[_LARGEST:]]:
        before = sum(size.disk_before_bytes for size in rest)
        after = sum(size.disk_after_bytes for size in rest)
        yield Leaf("libraries never loaded", f"{len(rest):,} smaller", before, after, False)


def _others(target: DebloatedTarget) -> Iterator[Leaf]:
    for kind, sizes in target.manifest.other_files.items():
        unread = (sizes.unread_disk_bytes, sizes.unread_kept_disk_bytes)
        yield Leaf("files never read", kind, *unread, is_used=False)
        read = (sizes.disk_bytes - unread[0], sizes.kept_disk_bytes - unread[1])
        yield Leaf("files read", kind, *read, is_used=True)


def _panel(title: str, leaves: list[Leaf]) -> Any:
    areas: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for leaf, box in _placed(leaves):
        left = min(1.0, leaf.after_bytes / leaf.before_bytes)
        shares = ((_USED if leaf.is_used else _UNUSED, 0.0, left), (_GONE, left, 1.0))
        said = {
            "group": leaf.group,
            "part": leaf.name,
            "before_mb": leaf.before_bytes / MB,
            "after_mb": leaf.after_bytes / MB,
        }
        areas += [
            said
            | {
                "fate": fate,
                "x": round(box.x + box.width * start, 1),
                "x2": round(box.x + box.width * end, 1),
                "y": round(box.y, 1),
                "y2": round(box.y + box.height, 1),
            }
            for fate, start, end in shares
            if end > start
        ]
        words += _words(leaf, box)
    x, y = (
        {"scale": alt.Scale(domain=[0, end], nice=False), "axis": None, "title": None}
        for end in (_WIDTH, _HEIGHT)
    )
    y["scale"]["reverse"] = True
    fates = (_USED, _UNUSED, _GONE)
    marks = (
        alt.Chart(data(areas))
        .mark_rect(stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("x:Q", **x),
            x2="x2:Q",
            y=alt.Y("y:Q", **y),
            y2="y2:Q",
            color=scaled(alt.Color, "fate:N", fates, (AFTER, HIGHLIGHT, BEFORE)),
            tooltip=hover("group", "part", "fate", before_mb=",.1f", after_mb=",.1f"),
        )
    )
    halo = {"align": "left", "baseline": "top", "dx": 4, "dy": 4, "fontSize": 11}
    text = alt.Chart(data(words)).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), text="words:N")
    # Dark text with a light outline is readable on every colour.
    edge = text.mark_text(**halo, stroke="white", strokeWidth=3, strokeJoin="round")
    return alt.layer(marks, edge, text.mark_text(**halo, color="#0f172a")).properties(
        width=_WIDTH, height=_HEIGHT, title=title
    )


def _placed(leaves: list[Leaf]) -> Iterator[tuple[Leaf, Box]]:
    """Yield each part with its box: groups divide the whole, parts divide their group."""
    groups: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(leaf.group, []).append(leaf)
    whole = Box(0, 0, _WIDTH, _HEIGHT)
    sizes = [sum(leaf.before_bytes for leaf in group) for group in groups.values()]
    for group, place in zip(groups.values(), squarified(sizes, whole), strict=True):
        yield from zip(group, squarified([leaf.before_bytes for leaf in group], place), strict=True)


def _words(leaf: Leaf, box: Box) -> Iterator[dict[str, Any]]:
    """Yield the lines that fit into a part's box: its name, and its bytes below."""
    change = f"{mb(leaf.before_bytes)} → {mb(leaf.after_bytes)} MB"
    if box.height < _LINE_PX + 4 or box.width < len(leaf.name) * _LETTER_PX + 8:
        return
    yield {"x": round(box.x, 1), "y": round(box.y, 1), "words": leaf.name}
    if box.height >= 2 * _LINE_PX + 4 and box.width >= len(change) * _LETTER_PX + 8:
        yield {"x": round(box.x, 1), "y": round(box.y + _LINE_PX, 1), "words": change}
