"""The tables of the report: images by the bytes that nodes pull, and every figure."""

from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.records.batch.worth import (
    RankedImage,
    Worth,
    change_of,
    figure_name,
    format_figure,
    interval_of,
)

_IMAGES = (
    Column("image", "Image"),
    Column("starts", "Starts", 0),
    Column("pulls", "Pulls by nodes", 0),
    Column("size_mb", "Size, MB", 0),
    Column("pulled_gb", "Pulled, GB", 2),
    Column("sum_pct", "Sum, %", 0),
    Column("startup_s", "Start-ups, s", 0),
    Column("slim_mb", "Slim, MB", 0),
    Column("saved_gb", "Saves, GB", 2),
    Column("saved_startup_s", "Saves, s", 0),
    Column("break_even_starts", "Break-even, starts", 0),
    Column("modelled", "Modelled"),
)


def images_table(worth: Worth) -> Table:
    """Return the images, the most pulled bytes first."""
    total, sum_ = sum(row.pulled_bytes or 0.0 for row in worth.images), 0.0
    rows = []
    for row in worth.images:
        sum_ += row.pulled_bytes or 0.0
        rows.append(_image(row, 100 * sum_ / total if total else None))
    return Table(
        "images",
        "Images by bytes pulled",
        "Compressed sizes. A node pulls an image once and keeps it. Without a slim size nothing is"
        " saved: `trimtab image slim` makes it known.",
        _IMAGES,
        tuple(rows),
    )


def _image(row: RankedImage, sum_pct: float | None) -> Row:
    return {
        "image": row.image,
        "starts": row.starts,
        "pulls": row.pulls,
        "size_mb": _in(row.size_bytes, 1e6),
        "pulled_gb": _in(row.pulled_bytes, 1e9),
        "sum_pct": sum_pct,
        "startup_s": row.startup_s,
        "slim_mb": _in(row.slim_bytes, 1e6),
        "saved_gb": _in(row.saved_bytes, 1e9),
        "saved_startup_s": row.saved_startup_s,
        "break_even_starts": row.break_even_starts,
        "modelled": ", ".join(row.modelled),
    }


def _in(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def settings_table(worth: Worth) -> Table:
    """Return every figure in every setting, with the interval of its change."""
    rows: list[Row] = []
    for setting in worth.settings:
        for each in setting.figures:
            before = worth.before.figure(each.name).value
            is_first = setting is worth.before
            rows.append(
                {
                    "setting": setting.name,
                    "figure": figure_name(each.name),
                    "value": format_figure(each.name, each.value),
                    "change": "" if is_first else change_of(each, before),
                    "interval": "" if is_first else interval_of(each, before),
                }
            )
    columns = (
        Column("setting", "Setting"),
        Column("figure", "Figure"),
        Column("value", "Value"),
        Column("change", "Change"),
        Column("interval", "95 % interval"),
    )
    return Table(
        "settings", "Every setting", "Changes are against the first.", columns, tuple(rows)
    )
