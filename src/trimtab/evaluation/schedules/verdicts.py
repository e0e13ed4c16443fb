"""Published statements about set-ups beside our figures, with a verdict on each."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.schedules import Cell, CellGroup, relative_pct
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
)
from trimtab.evaluation.schedules.differences import CellDifference
from trimtab.evaluation.schedules.section import SIMULATED, ScheduleSection, cell_row
from trimtab.evaluation.schedules.statements import DIFFERENCE, RULE, Statement, statements

_FIELDS = {"makespan": "makespan_s", "waste": "waste_share"}  # else the quantity's stem with _s
_WORDS = {
    "response_mean": "mean response",
    "response_p95": "95th percentile of response",
    "waiting_mean": "mean waiting",
    "execution_mean": "mean execution",
    "makespan": "run time",
    "total_energy": "energy",
    "processing_energy": "energy while in use",
    "waste": "waste",
}
# A figure and the half-width of its 99 % confidence interval; None where unknown.
_Measured = tuple[float | None, float | None]


class Verdicts(ScheduleSection):
    """The published statements about the cells of this experiment."""

    order = 705

    def make_tables(self) -> Iterator[Table]:
        """A row for each statement and each cell that it is about, if there is any."""
        rows = [
            _row(statement, cell, against)
            for statement in statements()
            for setting in self.schedules.settings
            if setting.trace in statement.traces
            for cell, against in _pairs(statement, setting)
        ]
        if rows:
            yield Table(
                "schedule_verdicts",
                titled("Published statements, and whether ours agree", "schedule_verdicts"),
                f"{RULE} Differences are from the baseline, or from the policy that is named; "
                "under a figure is its interval, where runs were repeated.",
                (
                    Column("statement", "Statement"),
                    Column("name", "Policy"),
                    Column("trace", "Trace"),
                    Column("cluster", "Cluster"),
                    Column("policy", "Policy's file", in_report=False),
                    HARDWARE_COLUMN,
                    Column("job_class", "Class"),
                    Column("quantity", "Quantity"),
                    Column("published_value", "Published"),
                    Column("ours", "Ours", 1, ("ours_low", "ours_high")),
                    Column("verdict", "Verdict"),
                    Column("reason", "Reason"),
                    *SOURCE_COLUMNS,
                ),
                tuple(rows),
            )


def _pairs(statement: Statement, setting: CellGroup) -> Iterator[tuple[Cell, Cell | None]]:
    """Yield the cells that a statement is about, and what it compares them with.

    Left out: cells whose counterpart is not in the experiment.
    """
    cells = {cell.summary.policy: cell for cell in setting.cells}
    for policy, named in statement.against.items():
        if policy in cells and (named is None or named in cells):
            yield cells[policy], cells[named] if named else setting.baseline


def _row(statement: Statement, cell: Cell, against: Cell | None) -> Row:
    unknown = _why_unknown(cell, against) if statement.is_difference else _why_unstable(cell)
    ours, interval = (None, None) if unknown else _ours(statement, cell, against)
    ends = dict(zip(("ours_low", "ours_high"), interval or (), strict=False))
    stem, unit = _split(statement.quantity)
    kind = ", difference in %" if statement.is_difference else f", {unit.replace('pct', '%')}"
    return {
        **cell_row(cell),
        "statement": statement.published.row,
        "job_class": statement.job_class,
        "quantity": _WORDS[stem] + kind + _from(statement, cell, against),
        "published_value": statement.in_words,
        "ours": ours,
        **ends,
        "verdict": statement.verdict(ours, interval),
        "reason": "; ".join(filter(None, (unknown, statement.reason))),
        "source": SIMULATED,
        "published_in": f"{statement.published.paper}, {statement.published.place}",
    }


def _split(quantity: str) -> tuple[str, str]:
    """Split "response_mean_difference_pct" or "waiting_mean_s" into its stem and its unit."""
    if quantity.endswith(DIFFERENCE):
        return quantity.removesuffix(DIFFERENCE), "pct"
    stem, unit = quantity.rsplit("_", 1)
    return stem, unit


def _from(statement: Statement, cell: Cell, against: Cell | None) -> str:
    named = statement.against[cell.summary.policy]
    return f", from {against.label}" if named and against else ""


def _why_unstable(cell: Cell) -> str:
    return "" if cell.is_stable else f"{cell.label} is unstable: {cell.summary.unstable_because}"


def _why_unknown(cell: Cell, against: Cell | None) -> str:
    if against is None:
        return "no policy is the baseline"
    return _why_unstable(against) or _why_unstable(cell)


def _ours(
    statement: Statement, cell: Cell, against: Cell | None
) -> tuple[float | None, tuple[float, float] | None]:
    """Return our figure for a statement, and its interval if runs were repeated."""
    after, half_after = _measured(statement, cell)
    if after is None:
        return None, None
    if not statement.is_difference:
        return after, None if half_after is None else (after - half_after, after + half_after)
    assert against
    before, half_before = _measured(statement, against)
    if before is None:
        return None, None
    difference = CellDifference(before, after, half_before, half_after)
    return relative_pct(before, after), difference.interval_pct


def _measured(statement: Statement, cell: Cell) -> _Measured:
    stem, _ = _split(statement.quantity)
    of_all = cell.summary.all
    if stem == "total_energy":
        halves = of_all.idle_energy_j_half_width_99, of_all.active_energy_j_half_width_99
        idle_j, active_j = halves
        return (
            cell.total_energy_j,
            None if idle_j is None or active_j is None else idle_j + active_j,
        )
    if stem == "processing_energy":
        return cell.processing_energy_j, None
    figures = cell.classes.get(statement.job_class) if statement.job_class else of_all
    field = _FIELDS.get(stem, f"{stem}_s")
    found = (getattr(figures, key, None) for key in (field, f"{field}_half_width_99"))
    scale = 100.0 if stem == "waste" else 1.0
    value, half = (None if number is None else number * scale for number in found)
    return value, half
