"""`trimtab advanced compare`: two results side by side."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.errors import UserError, escape_control_characters
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.evaluation.report.changes import NO_CHANGE, Effect, effect_of, is_clear
from trimtab.evaluation.report.tables import UNKNOWN
from trimtab.files import atomic_write, parse_json
from trimtab.records.outcome import EnvironmentOutcome

_STYLES = {Effect.BETTER: "bold green", Effect.WORSE: "bold red", Effect.ONCE: "dim"}
_END = re.compile(r"(?P<stem>.+)_(?:low|high)_(?P<unit>[^_/]+)")

# By their ends: what differs from run to run; the rest is counted.
_OF_RUNS = re.compile(r".*(_s|_ms|_us|_j|_kj|_wh|_w|(time|wall|response|energy|memory)\w*_pct)")
_LESS_IS_BETTER = re.compile(
    r"(?!.*before)(?!.*_reduction_).*(, MB|_mb|_bytes|_s|_ms|_us|_j|_kj|_wh|_w)"
)


@dataclass(frozen=True)
class FigureDifference:
    """A figure in both results; None where one lacks it.

    `clear` is false where both have a range, of pairs or replications, and the ranges overlap;
    `once` says that it is of runs, but has no range.
    """

    figure: str
    first: float | None
    second: float | None
    clear: bool = True
    once: bool = False

    @property
    def effect(self) -> Effect:
        """Whether the second is better or worse, where less is; none where more may be."""
        if _LESS_IS_BETTER.fullmatch(self.figure) is None or self.difference_pct is None:
            return Effect.NONE
        difference = self.difference_pct
        if not self.clear:
            return Effect.UNCLEAR
        return effect_of(difference, None if self.once else (difference, difference))

    @property
    def difference_pct(self) -> float | None:
        """The difference of the second from the first in per cent; None where meaningless."""
        if self.first is None or self.second is None or not self.first:
            return None
        return 100 * (self.second - self.first) / abs(self.first)


def compare(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="A workspace of `trimtab debloat`, results/debloat/TARGET/HARDWARE or"
            " results/evaluate/EXPERIMENT.",
        ),
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    every: Annotated[bool, typer.Option("--all", help="Show what is equal in both, too.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page, in the looks of the report."),
    ] = None,
) -> None:
    """Show two results side by side: what environments weigh, and all figures of metrics.json."""
    found = differences(figures_in(first), figures_in(second))
    shown = [each for each in found if every or each.first != each.second]
    if html:
        _write_page(html, (first, second), shown, len(found) - len(shown))
    rows = [asdict(each) | {"difference_pct": each.difference_pct} for each in shown]
    console.result({"a": first, "b": second, "figures": rows})
    if not shown:
        if not console.quiet:
            console.answer(f"all {len(found):,} figures are equal")
        return
    table = Table("figure", "A", "B", "difference")
    for column in table.columns[1:]:
        column.justify = "right"
    for each in shown:
        table.add_row(
            escape_control_characters(each.figure),
            _shown(each.first),
            _shown(each.second),
            _said(each),
        )
    hidden = len(found) - len(shown)
    if hidden and not console.quiet:
        table.caption = f"{hidden:,} figures are equal: --all shows them"
    console.answer(table)


def _write_page(
    path: Path, folders: tuple[Path, Path], shown: Sequence[FigureDifference], equal: int
) -> None:
    from trimtab.evaluation.outcome.comparison_page import (
        ComparisonRow,
        ComparisonSide,
        comparison_page,
    )

    first, second = (
        ComparisonSide(
            str(folder), [] if _has_metrics_only(folder) else outcome_in(folder).environments
        )
        for folder in folders
    )
    lines = [
        ComparisonRow(
            each.figure,
            each.first,
            each.second,
            _to_sort_by(each),
            (_shown(each.first), _shown(each.second), _said(each).plain),
            each.effect,
        )
        for each in shown
    ]
    with atomic_write(path) as temporary:
        temporary.write_text(comparison_page((first, second), lines, equal))
    console.notes.print(f"page: {path}", soft_wrap=True)


def _to_sort_by(each: FigureDifference) -> float | None:
    """Return the difference as shown: in points for figures in per cent."""
    if not each.clear or each.first is None or each.second is None:
        return None
    return each.second - each.first if _is_share(each) else each.difference_pct


def figures_in(folder: Path) -> dict[str, float]:
    """Return the figures of a folder of results, by names that end in their units.

    Sizes of environments come first. Raises UserError as `outcome_in` does.
    """
    figures: dict[str, float] = {}
    environments = outcome_in(folder).environments if not _has_metrics_only(folder) else []
    for environment in environments:
        prefix = f"{environment.target}/" if len(environments) > 1 else ""
        figures |= {f"{prefix}{name}": value for name, value in _of_environment(environment)}
    metrics = folder / "metrics.json"
    if metrics.is_file():
        figures |= _flat(parse_json(metrics.read_bytes()))
    return figures


def _has_metrics_only(folder: Path) -> bool:
    """Whether an earlier trimtab evaluated the experiment."""
    return (folder / "metrics.json").is_file() and not (folder / "outcome.json").is_file()


def _of_environment(environment: EnvironmentOutcome) -> list[tuple[str, float]]:
    sizes = [("on disk", environment.disk)]
    if environment.compressed:
        sizes.append(("compressed", environment.compressed))
    sizes += [(part.name, part) for part in environment.parts]
    return [
        (f"{name}, {when}, MB", getattr(change, f"{when}_bytes") / 1e6)
        for name, change in sizes
        for when in ("before", "after")
    ]


def _flat(found: Any, name: str = "") -> dict[str, float]:
    if isinstance(found, Mapping):
        flat: dict[str, float] = {}
        for key, value in found.items():
            flat |= _flat(value, f"{name}/{key}" if name else str(key))
        return flat
    is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return {name: found} if is_number else {}


def differences(first: Mapping[str, float], second: Mapping[str, float]) -> list[FigureDifference]:
    """Return all figures of both, in their order; of ranges only the middle value."""
    found = []
    for name in dict.fromkeys([*first, *second]):
        end = _END.fullmatch(name)
        middle = f"{end['stem']}_{end['unit']}" if end else None
        if middle is None or not (middle in first or middle in second):
            ranges = _range(first, name), _range(second, name)
            values = first.get(name), second.get(name)
            once = None in ranges and None not in values and bool(_OF_RUNS.fullmatch(name))
            found.append(FigureDifference(name, *values, _differ(*ranges), once))
    if not found:
        raise UserError("neither result has a figure: expected a metrics.json or an environment")
    return found


def _range(figures: Mapping[str, float], name: str) -> tuple[float, float] | None:
    stem, _, unit = name.rpartition("_")
    low, high = (figures.get(f"{stem}_{end}_{unit}") for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def _differ(first: tuple[float, float] | None, second: tuple[float, float] | None) -> bool:
    if first is None or second is None:
        return True
    return is_clear(second[0] - first[1], second[1] - first[0])


def _shown(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.4g}"


def _said(each: FigureDifference) -> Text:
    if each.first is None or each.second is None:
        return Text("only in " + ("B" if each.first is None else "A"), "dim")
    if not each.clear:
        return Text(NO_CHANGE, "dim")
    if _is_share(each):
        said = f"{each.second - each.first:+,.1f} points{', once' * each.once}"
        return Text(said, "dim" if each.once else "bold")
    if each.difference_pct is None:
        return Text("")
    style = _STYLES.get(each.effect, "bold" if round(each.difference_pct, 1) else "")
    return Text(f"{each.difference_pct:+,.1f} %{', once' * each.once}", style)


def _is_share(each: FigureDifference) -> bool:
    return each.figure.endswith(("_pct", "_percent"))
