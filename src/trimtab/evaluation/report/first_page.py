"""Page one: at most five figures, one chart, and what to do next."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.evaluation.inputs.measurements import DebloatedTarget
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.key_figures import About, KeyFigure
from trimtab.evaluation.report.section import ReportSection
from trimtab.evaluation.report.stages import StageOnPage

# The chart of page one is the first of these that was drawn. Differences from a baseline lead only
# where the strip has one that is sure.
_CHARTS = ("ablation", "environment_parts", "sizes")
_OF_DIFFERENCES = {
    About.ENERGY: "energy_against_baseline",
    About.RESPONSE: "response_against_baseline",
}


@dataclass(frozen=True)
class StripFigure:
    """A figure of the strip, and the name of what it is of."""

    name: str
    figure: KeyFigure


def strip_of(stages: Iterable[StageOnPage]) -> list[StripFigure]:
    """Return a figure about each subject, the first one that is clear; at most five."""
    found: dict[About, StripFigure] = {}
    for stage in stages:
        for name, cards in stage.cards.items():
            for part in (part for card in cards for part in card.parts):
                if part.about is not None:
                    found.setdefault(part.about, StripFigure(part.title or name, part))
    return [found[about] for about in About if about in found][:5]


def chart_of(sections: Iterable[ReportSection], strip: Iterable[StripFigure]) -> Figure | None:
    """Return the chart of page one: the ablation, else what was saved most."""
    figures = {figure.name: figure for section in sections for figure in section.figures}
    sure = {each.figure.about for each in strip}
    names = [*_CHARTS, *(name for about, name in _OF_DIFFERENCES.items() if about in sure)]
    return next((figures[name] for name in names if name in figures), None)


def risk_of(targets: Iterable[DebloatedTarget]) -> str:
    """Return the largest risk of the next run in words; "" if none is known."""
    risks = [each.risk for target in targets for each in target.verdict.workloads if each.risk]
    return str(max(risks, key=lambda risk: risk.bound)) if risks else ""


def ends_of(targets: Sequence[DebloatedTarget]) -> str:
    """Return how the compared runs ended, in words: "exit code 0", "exit code 3 or signal 15"."""
    codes = sorted({int(code) for target in targets for code in target.runs["exit_code"].dropna()})
    named = [f"exit code {code}" if code >= 0 else f"signal {-code}" for code in codes]
    return " or ".join(named)
