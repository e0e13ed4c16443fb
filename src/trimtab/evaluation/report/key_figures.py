"""The changes that a reader wants first."""

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.evaluation.report.tables import UNKNOWN, Row, Table, is_published, shown


@dataclass(frozen=True)
class KeyFigure:
    """A change in per cent, with what changed and from what to what."""

    label: str
    change: str
    detail: str


def key_figures(tables: Mapping[str, Table]) -> dict[str, list[KeyFigure]]:
    """Return, by target, the changes that a reader wants first; nothing without a target."""
    if "table_2" not in tables:
        return {}
    found: dict[str, list[KeyFigure]] = {}
    for row in tables["table_2"].rows:
        if not is_published(row):
            cards = found.setdefault(str(row["name"]), [])
            cards.append(_less("Libraries in the file system", row, "file_size", "mb", "MB"))
            cards.append(_less("Bytes of CPU functions", row, "cpu_code", "mb", "MB"))
            cards.append(_less("Number of functions", row, "functions", "", ""))
            if row["gpu_code_mb"] is not None:
                cards.append(_less("Bytes of GPU code", row, "gpu_code", "mb", "MB"))
                cards.append(_less("Elements of GPU code", row, "elements", "", ""))
    for row in tables["sizes"].rows:
        if row["kind"] == "compressed (zstd)" and row["scope"] == "all libraries":
            detail = f"{_number(row['before_mb'])} → {_number(row['after_mb'])} MB"
            card = KeyFigure("Libraries, compressed", _change(row["reduction_pct"]), detail)
            found[str(row["name"])].insert(1, card)
    for row in tables["table_5"].rows:
        if not is_published(row):
            cards = found[str(row["target"])]
            suffix = "" if row["name"] == row["target"] else f", {row['name']}"
            cards.append(_less(f"Peak memory{suffix}", row, "peak_memory", "mb", "MB"))
            if "peak_gpu_memory_mb" in row:
                label = f"Peak GPU memory{suffix}"
                cards.append(_less(label, row, "peak_gpu_memory", "mb", "MB"))
            cards.append(_less(f"Start-up{suffix}", row, "start_up", "s", "s"))
            cards.append(_less(f"Run time{suffix}", row, "wall", "s", "s"))
            label = f"Energy ({row['energy_source'] or 'unknown'}){suffix}"
            cards.append(_less(label, row, "energy", "j", "J"))
    return found


def _less(label: str, row: Row, stem: str, unit: str, shown_unit: str) -> KeyFigure:
    before = row.get(f"{stem}_{unit}" if unit else stem)
    if not isinstance(before, (int, float)):
        return KeyFigure(label, UNKNOWN, "not measured")
    reduction = row.get(f"{stem}_reduction_pct")
    low, high = row.get(f"{stem}_reduction_low_pct"), row.get(f"{stem}_reduction_high_pct")
    if low is not None and high is not None:
        detail = f"of {_number(before)} {shown_unit}; pairs {_change(high)} to {_change(low)}"
    else:
        after = before * (1 - reduction / 100) if isinstance(reduction, (int, float)) else before
        after = round(after) if isinstance(before, int) else after
        detail = f"{_number(before)} → {_number(after)} {shown_unit}".rstrip()
    return KeyFigure(label, _change(reduction), detail)


def _change(reduction_pct: object) -> str:
    """Return a reduction as a change: 12.3 becomes "-12.3 %" with a minus sign."""
    if not isinstance(reduction_pct, (int, float)):
        return UNKNOWN
    sign = "+" if round(reduction_pct, 1) < 0 else ""
    return f"{sign}{shown(-float(reduction_pct), 1)}\N{NO-BREAK SPACE}%"


def change(difference_pct: float | None) -> str:
    """Return a difference with its sign: -12.3 becomes "-12.3 %" with a minus sign."""
    return _change(None if difference_pct is None else -difference_pct)


def _number(value: object) -> str:
    if not isinstance(value, (int, float)):
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 100 or isinstance(value, int) else f"{value:,.2f}"
