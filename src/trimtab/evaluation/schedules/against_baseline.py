"""Response time and energy against the baseline policy."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import CellGroup, ClassOutcome, outcomes, relative_pct
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.figures import (
    AFTER,
    BEFORE,
    INK,
    Figure,
    data,
    hover,
    in_order,
    scaled,
)
from trimtab.evaluation.report.tables import shown
from trimtab.evaluation.schedules.differences import energy_difference, response_difference
from trimtab.evaluation.schedules.section import (
    ScheduleSection,
    class_colour,
    figure_of,
    format_sources,
    zero_line,
)

_LABEL_PX, _LETTER_PX, _CLASSES_A_LINE = 160, 6.5, 3
_MEASURES = {"response_mean_s": "mean", "response_p95_s": "95th percentile"}

_SURE = "Without a bar: 99 % intervals that contain zero. Grey: simulated once."


class AgainstBaseline(ScheduleSection):
    """Response time of each class and energy of the cluster, relative to a baseline."""

    order = 700

    def make_figures(self) -> Iterator[Figure]:
        """Differences of mean and tail, a panel for each setting and platform; and of energy."""
        yield from map(self.of_main_classes, self._response())
        yield from self._energy()

    def _response(self) -> Iterator[Figure]:
        panels = [
            _latency_panel(setting, platform, values)
            for setting in self.charted.settings
            for platform, values in _latency_values(setting).items()
        ]
        return figure_of(
            "response_against_baseline",
            "Response time against the baseline policy",
            "Difference of the mean (solid) and of the 95th percentile (shaded), in per cent, "
            "from the same class under the baseline policy. Its times are above each panel; "
            f"below zero is faster. {_SURE} Simulated, unless the panel says that it ran for real.",
            panels,
        )

    def _energy(self) -> Iterator[Figure]:
        settings = [setting for setting in self.charted.settings if energy_values(setting)]
        sources = format_sources(cell.summary.energy_source for s in settings for cell in s.cells)
        return figure_of(
            "energy_against_baseline",
            "Energy against the baseline policy",
            "Difference in per cent of the cluster's energy, idle and active, over the whole "
            f"trace; below zero is less. {_SURE} The energy is {sources}.",
            map(_energy_panel, settings),
        )


def _latency_values(setting: CellGroup) -> dict[str, list[dict[str, Any]]]:
    """Return the bars by platform; "" stands for the simulation."""
    found: dict[str, list[dict[str, Any]]] = {}
    for outcome in outcomes(setting):
        for key, measure in _MEASURES.items():
            if not (outcome.baseline and outcome.difference_pct(key) is not None):
                continue
            difference = response_difference(outcome.baseline, outcome.numbers, key)
            if difference is None or difference.effect is Effect.UNCLEAR:
                continue
            bar = {
                "policy": outcome.cell.label,
                "job_class": outcome.job_class,
                "measure": measure,
                "bar": f"{outcome.job_class}, {measure}",
                "seconds": getattr(outcome.numbers, key),
                "difference_pct": outcome.difference_pct(key),
                "is_sure": difference.effect is not Effect.ONCE,
            }
            found.setdefault(outcome.answered_by if outcome.is_real else "", []).append(bar)
    return found


def _latency_panel(setting: CellGroup, platform: str, values: list[dict[str, Any]]) -> Any:
    bars = [f"{name}, {measure}" for name in setting.classes for measure in _MEASURES.values()]
    policies = in_order(value["policy"] for value in values)
    axis = alt.Axis(labelAngle=0, labelLimit=_LABEL_PX)
    base = alt.Chart(data(values)).encode(
        x=alt.X("policy:N", sort=policies, title=None, axis=axis),
        xOffset=alt.XOffset("bar:N", sort=bars, scale=alt.Scale(domain=bars)),
        y=alt.Y("difference_pct:Q", title="Difference, %"),
        tooltip=hover("policy", "bar", seconds=",.2f", difference_pct="+.1f"),
    )
    colour = alt.condition("datum.is_sure", class_colour(setting.classes), alt.value(BEFORE))
    measures = list(_MEASURES.values())
    shade = scaled(alt.Opacity, "measure:O", measures, (1, 0.4), sort=measures)
    marks = base.mark_bar(strokeWidth=1).encode(color=colour, opacity=shade)
    outline = base.mark_bar(filled=False, strokeWidth=1).encode(color=colour)
    label_px = min(_LABEL_PX, _LETTER_PX * max(map(len, policies), default=0))
    width = max(240, len(policies) * max(96, label_px, 24 + 16 * len(bars)))
    return alt.layer(marks, outline, zero_line("y")).properties(
        width=width,
        height=220,
        title=alt.TitleParams(
            setting.label + (f", real: {platform}" if platform else ""),
            subtitle=_baseline_in_words(setting, platform),
            subtitleColor=INK,
        ),
    )


def _baseline_in_words(setting: CellGroup, platform: str) -> list[str]:
    """Return the baseline's figures as lines of a few classes each."""
    said = []
    for outcome in outcomes(setting):
        if outcome.cell is setting.baseline and outcome.is_real is bool(platform):
            times = " / ".join(_seconds(outcome, key) for key in _MEASURES)
            said.append(f"{outcome.job_class} {times} s")
    label = setting.baseline.label if setting.baseline else ""
    lines = [
        "; ".join(said[start : start + _CLASSES_A_LINE])
        for start in range(0, len(said), _CLASSES_A_LINE)
    ]
    return [f"Baseline {label}, mean / 95th percentile: {lines[0]}", *lines[1:]] if lines else []


def _seconds(outcome: ClassOutcome, key: str) -> str:
    value = getattr(outcome.numbers, key)
    return shown(value, 1 if value is None or value >= 10 else 3)


def energy_values(setting: CellGroup) -> list[dict[str, Any]]:
    """Return policy and difference_pct in total energy of each cell that differs from a baseline.

    `is_sure` is false after one replication.
    """
    return [
        {
            "policy": cell.label,
            "difference_pct": relative_pct(found.before, found.after),
            "is_sure": found.effect is not Effect.ONCE,
        }
        for cell in setting.cells
        if (baseline := setting.compared_with(cell))
        and (found := energy_difference(baseline, cell))
        and found.before
        and found.effect is not Effect.UNCLEAR
    ]


def _energy_panel(setting: CellGroup) -> Any:
    values = energy_values(setting)
    policies = [value["policy"] for value in values]
    base = alt.Chart(data(values)).encode(
        y=alt.Y("policy:N", sort=policies, title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X("difference_pct:Q", title="Difference, %", scale=alt.Scale(padding=36)),
        tooltip=hover("policy", difference_pct="+.1f"),
    )
    colour = alt.condition("datum.is_sure", alt.value(AFTER), alt.value(BEFORE))
    bars = base.mark_bar().encode(color=colour)
    below = "datum.difference_pct < 0"
    labels = base.mark_text(
        align=alt.expr(f"{below} ? 'right' : 'left'"), dx=alt.expr(f"{below} ? -4 : 4"), color=INK
    ).encode(text=alt.Text("difference_pct:Q", format="+.1f"))
    assert setting.baseline
    return alt.layer(bars, labels, zero_line("x")).properties(
        width=480,
        height=alt.Step(24),
        title=f"{setting.label}, against {setting.baseline.label}",
    )
