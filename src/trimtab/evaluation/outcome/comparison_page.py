"""A page that compares two results, in the style of the report."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.evaluation.report.blocks import templates
from trimtab.evaluation.report.changes import Effect
from trimtab.evaluation.report.page import table_library
from trimtab.evaluation.report.tables import exact
from trimtab.records.outcome import EnvironmentOutcome

# By the unit at a figure's end, or by its subject.
_SUBJECTS = {
    "Sizes": re.compile(r".*(, MB|_mb|_bytes|size\w*_pct)"),
    "Times": re.compile(r".*(_s|_ms|_us|time\w*_pct|wall\w*_pct|response\w*_pct)"),
    "Energy": re.compile(r".*(_j|_kj|_wh|_w|energy\w*_pct)"),
    "All else": re.compile(r".*"),
}


@dataclass(frozen=True)
class ComparisonSide:
    """One of two results: its name, and the outcomes of its environments."""

    name: str
    environments: Sequence[EnvironmentOutcome]


@dataclass(frozen=True)
class ComparisonRow:
    """A figure of both results, as numbers and as shown.

    `difference` is in per cent of the first, or in points for figures in per cent; None where it
    may be only noise. `effect` says whether less is better here, and whether it is sure.
    """

    figure: str
    first: float | None
    second: float | None
    difference: float | None
    shown: tuple[str, str, str]
    effect: Effect = Effect.NONE


def strip_of(lines: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Return the five largest differences that are sure."""
    sure = [line for line in lines if line.effect in (Effect.BETTER, Effect.WORSE)]
    return sorted(sure, key=lambda line: -abs(line.difference or 0.0))[:5]


def comparison_page(
    sides: tuple[ComparisonSide, ComparisonSide], lines: Sequence[ComparisonRow], equal: int
) -> str:
    """Return the page of two results as HTML: verdicts, then figures by subject.

    `equal` is the number of equal figures, which are not among `lines`.
    """
    subjects: dict[str, list[ComparisonRow]] = {name: [] for name in _SUBJECTS}
    for line in lines:
        subject = next(name for name, of in _SUBJECTS.items() if of.fullmatch(line.figure))
        subjects[subject].append(line)
    return (
        templates()
        .get_template("comparison.html.j2")
        .render(
            sides=dict(zip("AB", sides, strict=True)),
            subjects={name: found for name, found in subjects.items() if found},
            equal=equal,
            strip=strip_of(lines),
            tables=table_library(),
            exact=exact,
        )
    )
