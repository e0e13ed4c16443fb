"""Two results side by side as a page of its own, in the looks of the report."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.evaluation.report.blocks import templates
from trimtab.evaluation.report.page import table_library
from trimtab.evaluation.report.tables import exact
from trimtab.records.outcome import EnvironmentOutcome

# By the unit that a figure's name ends in, or by what it is of.
_SUBJECTS = {
    "Sizes": re.compile(r".*(, MB|_mb|_bytes|size\w*_pct)"),
    "Times": re.compile(r".*(_s|_ms|_us|time\w*_pct|wall\w*_pct|response\w*_pct)"),
    "Energy": re.compile(r".*(_j|_kj|_wh|_w|energy\w*_pct)"),
    "All else": re.compile(r".*"),
}


@dataclass(frozen=True)
class ComparisonSide:
    """One of two results: its name, and what its environments came to."""

    name: str
    environments: Sequence[EnvironmentOutcome]


@dataclass(frozen=True)
class ComparisonRow:
    """A figure of both results, in numbers and as they are shown.

    `difference` is in per cent of the first, or in points where the figures are in per cent; None
    where noise may be all of it.
    """

    figure: str
    first: float | None
    second: float | None
    difference: float | None
    shown: tuple[str, str, str]


def comparison_page(
    sides: tuple[ComparisonSide, ComparisonSide], lines: Sequence[ComparisonRow], equal: int
) -> str:
    """Return the page of two results as HTML: verdicts, then figures by subject.

    `equal` is how many figures are equal in both and not among `lines`.
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
            tables=table_library(),
            exact=exact,
        )
    )
