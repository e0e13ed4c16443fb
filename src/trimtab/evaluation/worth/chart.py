"""The chart of an ablation: what each setting changes, with its interval."""

import altair as alt

from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    HIGHLIGHT,
    Figure,
    data,
    hover,
    specification,
)
from trimtab.records.batch.worth import Setting, Worth, figure_name

_PANEL_PX, _ROW_PX, _NAMES_PX = 165, 24, 120
_LESS, _MORE, _SAME = "less", "more", "no change"


def ablation_chart(worth: Worth, figures: list[str]) -> Figure:
    """Return the chart of these figures, a panel each; grey is what spans zero."""
    settings = worth.settings[1:]
    rows = [_row(each, worth, name) for name in figures for each in settings]
    order = [each.name for each in settings]
    panels = [
        _panel([row for row in rows if row["figure"] == name], order, name, first=at == 0)
        for at, name in enumerate(figures)
    ]
    return Figure(
        "ablation",
        "What each stage changes",
        f"Change against the queue as it is, in %, with its 95 % interval over {worth.replications}"
        " resampled queues. Grey: the interval spans zero, so there is no change.",
        specification(alt.hconcat(*panels, spacing=10)),
    )


def _row(setting: Setting, worth: Worth, name: str) -> dict[str, str | float]:
    before, saving = worth.before.figure(name).value, setting.figure(name).saving
    share = 100 / before if before else 0.0
    effect = _SAME if not saving.is_clear else _LESS if saving.value > 0 else _MORE
    ends = {"low": -(saving.high or 0.0) * share, "high": -(saving.low or 0.0) * share}
    return {
        "figure": name,
        "setting": setting.name,
        "change": -saving.value * share,
        "effect": effect,
        **ends,
    }


def _panel(
    rows: list[dict[str, str | float]], order: list[str], name: str, *, first: bool
) -> alt.LayerChart:
    base = alt.Chart(data(rows)).encode(
        y=alt.Y(
            "setting:N",
            title=None,
            sort=order,
            axis=alt.Axis(
                grid=True, labels=first, ticks=first, minExtent=_NAMES_PX if first else 0
            ),
        ),
        color=alt.Color(
            "effect:N",
            legend=None,
            scale=alt.Scale(domain=[_LESS, _MORE, _SAME], range=[AFTER, HIGHLIGHT, BEFORE]),
        ),
        tooltip=hover("setting", "effect", change=",.1f", low=",.1f", high=",.1f"),
    )
    x = alt.X("low:Q", title=f"{figure_name(name)}, %", scale=alt.Scale(zero=True))
    intervals = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x="change:Q")
    zero = alt.Chart(data([{"zero": 0}])).mark_rule(color=BEFORE).encode(x="zero:Q")
    return (zero + intervals + points).properties(width=_PANEL_PX, height=_ROW_PX * len(order))
