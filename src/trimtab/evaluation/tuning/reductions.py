"""The reductions of time and energy by tuners against the first one, and the thesis' values."""

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.tunings import TunedSetting
from trimtab.evaluation.report.changes import Effect, effect_of
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    HIGHLIGHT,
    INK,
    Figure,
    data,
    hover,
    in_order,
    scaled,
)
from trimtab.evaluation.report.published import published
from trimtab.evaluation.report.tables import PUBLISHED
from trimtab.evaluation.schedules.section import figure_of, zero_line
from trimtab.evaluation.tuning.section import TuningSection, against

_OURS, _ONCE = "ours, a search each", "ours, one search"
_SOURCES = (_OURS, _ONCE, PUBLISHED)
_QUANTITIES = {
    "tuning_reduction_pct": ("tuning_s", "Less tuning time, %"),
    "energy_reduction_pct": ("energy_j", "Less energy, %"),
}


class TuningReductions(TuningSection):
    """Every search against the first tuner's of the same seed, and the published values."""

    order = 632

    @property
    def applies(self) -> bool:
        """Whether tuners are compared in any setting."""
        return super().applies and any(len(setting.cells) > 1 for setting in self.settings)

    def make_figures(self) -> Iterator[Figure]:
        """Yield time and energy, ours above the published."""
        compared = [setting for setting in self.settings if len(setting.cells) > 1]
        sources = " and ".join(in_order(c.energy_source for s in compared for c in s.cells))
        panels = [
            _panel(compared, key, value, heading) for key, (value, heading) in _QUANTITIES.items()
        ]
        yield from figure_of(
            "tuning_reductions",
            "Tuning time and energy against the first tuner",
            "Ours: each dot is a search, against the first tuner with the same seed. Searches that "
            "differ in whether they took less are not shown. Published: "
            "the thesis on its own machines, mostly as `up to`. Below zero is more. Our energy "
            f"is {sources}, of all training and measuring; the published energy is metered.",
            [panel for panel in panels if panel is not None],
        )


def _shown(reductions: Iterable[float | None]) -> list[float]:
    """Return the reductions of searches; none where searches differ in whether there is any."""
    found = [less for less in reductions if less is not None]
    if not found:
        return []
    interval = (-max(found), -min(found)) if len(found) > 1 else None
    return [] if effect_of(-median(found), interval) is Effect.UNCLEAR else found


def _panel(settings: list[TunedSetting], key: str, value: str, heading: str) -> Any:
    values = [
        {"what": f"{cell.label} against {setting.baseline.label}, {setting.label}",
         "less_pct": less, "source": _OURS if len(found) > 1 else _ONCE}
        for setting in settings
        for cell in setting.cells[1:]
        if (found := _shown(against(setting.baseline.searches, cell.searches, value)))
        for less in found
    ]  # fmt: skip
    if not values:
        return None
    values += [
        {"what": row.row, "less_pct": row.number(key), "source": PUBLISHED}
        for row in published("tuning")
        if key in row.values
    ]
    rows = in_order(one["what"] for one in values)
    base = alt.Chart(data(values)).encode(
        y=alt.Y("what:N", sort=rows, title=None, axis=alt.Axis(labelLimit=420)),
        x=alt.X("less_pct:Q", title=heading),
        color=scaled(alt.Color, "source:N", _SOURCES, (AFTER, BEFORE, HIGHLIGHT)),
        shape=scaled(alt.Shape, "source:N", _SOURCES, ("circle", "circle", "diamond")),
        tooltip=hover("what", "source", less_pct="+.1f"),
    )
    marks = base.mark_point(filled=True, size=60, opacity=0.8)
    middle = (
        alt.Chart(data([one for one in values if one["source"] != PUBLISHED]))
        .mark_tick(color=INK, thickness=2, size=14)
        .encode(y=alt.Y("what:N", sort=rows), x="median(less_pct):Q")
    )
    return alt.layer(zero_line("x"), marks, middle).properties(width=460, height=alt.Step(22))
