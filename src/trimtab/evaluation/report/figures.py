"""A figure of the report: one Vega-Lite document, drawn as SVG and explored in HTML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import altair as alt
import vl_convert
from altair.utils import schemapi

from trimtab.errors import escape_control_characters
from trimtab.evaluation.report.drawing import slim
from trimtab.files import atomic_write

BEFORE, AFTER, HIGHLIGHT = "#9aa7b5", "#0f766e", "#b45309"
INK = "#1e293b"
CPU_COLOUR, GPU_COLOUR = AFTER, "#4f46e5"
_LONGEST_NAME_PX = 320
# No validation of each part of a chart; `to_dict` validates the whole chart.
schemapi.DEBUG_MODE = False
# Added to the document: each `configure` method would copy the whole chart.
_STYLE: dict[str, Any] = {
    "font": "system-ui, sans-serif",
    "background": "transparent",
    "axis": {
        "labelColor": "#334155",
        "titleColor": "#334155",
        "gridColor": "#e8ecf0",
        "labelFontSize": 11,
        "labelLimit": _LONGEST_NAME_PX,
        "labelSeparation": 8,
    },
    "header": {
        "labelFontSize": 12,
        "labelFontWeight": "bold",
        "labelColor": INK,
        "labelLimit": _LONGEST_NAME_PX,
    },
    "legend": {"labelLimit": _LONGEST_NAME_PX},
    "title": {"fontSize": 13, "anchor": "start", "color": INK},
}
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


@dataclass(frozen=True)
class Figure:
    """A Vega-Lite specification; `name` is the stem of the SVG, `caption` explains it."""

    kind: ClassVar[str] = "figure"
    name: str
    title: str
    caption: str
    spec: dict[str, Any]

    @cached_property
    def svg(self) -> str:
        """The figure drawn as an SVG document."""
        return str(vl_convert.vegalite_to_svg(self.spec, vl_version=VEGA_LITE))

    @property
    def slim_svg(self) -> str:
        """The compact drawing for the page, in tenths of a pixel."""
        return slim(self.svg)

    def write_svg(self, folder: Path) -> Path:
        """Write the figure to `folder`/`name`.svg and return its path."""
        path = folder / f"{self.name}.svg"
        with atomic_write(path) as temporary:
            temporary.write_text(self.svg)
        return path


def in_order(names: Iterable[Any]) -> list[Any]:
    """Return the distinct names in the order of first appearance, for a chart's panels."""
    return list(dict.fromkeys(names))


def data(values: list[dict[str, Any]]) -> Any:
    """Return inline data of a chart; every row is a dictionary."""
    return alt.Data(values=tuple(values))  # Altair would often deep-copy lists


def scaled(
    channel: Any, field: str, names: Iterable[str], values: Sequence[Any], **more: Any
) -> Any:
    """Return a chart's channel, such as alt.Color, with a value for each name of a field.

    Its legend is above the chart, unless `more` says otherwise.
    """
    scale = alt.Scale(domain=list(names), range=list(values))
    return channel(field, scale=scale, **{"legend": alt.Legend(title=None, orient="top")} | more)


def hover(*names: str, **formats: str) -> list[Any]:
    """Return a mark's tooltip: names, then numbers in these formats."""
    numbers = [alt.Tooltip(f"{key}:Q", format=form) for key, form in formats.items()]
    return [*(f"{name}:N" for name in names), *numbers]


def specification(chart: Any) -> dict[str, Any]:
    """Return a chart as a Vega-Lite document in the common style of all figures."""
    document: dict[str, Any] = _visible(chart.to_dict())
    theme = document.get("config", {})  # Altair's
    view = {**theme.get("view", {}), "stroke": None}
    document["config"] = {**theme, **_STYLE, "view": view}
    return document


def _visible(part: Any) -> Any:
    """Escape control characters, which SVG forbids; names in data come from documents."""
    if isinstance(part, dict):
        return {key: _visible(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_visible(value) for value in part]
    return escape_control_characters(part) if isinstance(part, str) else part
