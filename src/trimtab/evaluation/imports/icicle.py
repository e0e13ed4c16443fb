"""An icicle of the time of imports: packages, and below each its parts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

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

_WIDTH, _ROW_PX = 740, 24
_LETTER_PX = 6.4
_NARROWEST_PX = 0.5
_MOST_LEVELS = 6
_USES = {
    "ran": ("functions of it ran", AFTER),
    "read": ("nothing ran, names were read", "#d9a05b"),
    "none": ("nothing ran, nothing was read", HIGHLIGHT),
    "unknown": ("native code, or unknown", BEFORE),
}


class Part(NamedTuple):
    """A package or module and all below it, with its place: `left_s` from the left, `level` down.

    `use` is the one that has most of the time.
    """

    name: str
    level: int
    left_s: float
    time_s: float
    use: str


def icicle(modules: pd.DataFrame) -> Figure:
    """Return the figure of a table IMPORTED_MODULES; widths are seconds of modules themselves."""
    parts = list(parts_of(modules[["module", "own_s", "use"]].itertuples(index=False, name=None)))
    whole_s = max((part.left_s + part.time_s for part in parts), default=0.0) or 1.0
    height = _ROW_PX * (1 + max((part.level for part in parts), default=0))
    areas, words = [], []
    for part in parts:
        left, width = (_WIDTH * time_s / whole_s for time_s in (part.left_s, part.time_s))
        if width < _NARROWEST_PX:
            continue
        x, y = round(left, 1), _ROW_PX * part.level
        areas.append({
            "module": part.name, "use": _USES[part.use][0], "own_s": part.time_s,
            "x": x, "x2": round(left + width, 1), "y": y, "y2": y + _ROW_PX,
        })  # fmt: skip
        last = part.name.rpartition(".")[2]
        if width >= len(last) * _LETTER_PX + 8:
            words.append({"x": x, "y": y, "words": last})
    return Figure(
        "imports",
        "What imports cost",
        "Widths are seconds in modules themselves, without their imports; rows are parts of names.",
        specification(_chart(areas, words, height, whole_s)),
    )


def parts_of(modules: Iterable[tuple[str, float, str]]) -> Iterator[Part]:
    """Yield the parts of modules, given as name, own seconds and use; each above its own parts.

    Names below the sixth level are joined with the level above.
    """
    times: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    below: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for name, own_s, use in modules:
        path = tuple(name.split(".")[:_MOST_LEVELS])
        for depth in range(len(path)):
            times[path[: depth + 1]][use] += own_s
            below[path[:depth]].add(path[: depth + 1])
    waiting: list[tuple[tuple[str, ...], float]] = [
        ((), 0.0)
    ]  # whose parts are to be placed, and from where
    while waiting:
        path, left_s = waiting.pop()
        for each in sorted(below[path], key=lambda part: (-sum(times[part].values()), part)):
            by_use = times[each]
            time_s = sum(by_use.values())
            use = max(_USES, key=lambda use: by_use.get(use, 0.0))
            yield Part(".".join(each), len(each) - 1, left_s, time_s, use)
            waiting.append((each, left_s))
            left_s += time_s


def _chart(
    areas: list[dict[str, Any]], words: list[dict[str, Any]], height: int, whole_s: float
) -> Any:
    across = alt.Scale(domain=[0, _WIDTH], nice=False)
    down = alt.Scale(domain=[0, height], nice=False, reverse=True)
    x = alt.X("x:Q", scale=across, axis=None)
    y = alt.Y("y:Q", scale=down, axis=None)
    labels, colours = zip(*_USES.values(), strict=True)
    marks = (
        alt.Chart(data(areas))
        .mark_rect(stroke="white", strokeWidth=1)
        .encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=scaled(alt.Color, "use:N", labels, colours),
            tooltip=hover("module", "use", own_s=",.3f"),
        )
    )
    look = {"align": "left", "baseline": "top", "dx": 4, "dy": 6, "fontSize": 11}
    text = alt.Chart(data(words)).encode(x=x, y=y, text="words:N")
    edge = text.mark_text(**look, stroke="white", strokeWidth=3, strokeJoin="round")
    return alt.layer(marks, edge, text.mark_text(**look, color="#0f172a")).properties(
        width=_WIDTH, height=height, title=f"imports: {whole_s:.2f} s"
    )
