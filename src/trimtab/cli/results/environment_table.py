"""The table of a whole environment: its size on disk and compressed, and its parts."""

from collections.abc import Iterator

from rich.table import Table

from trimtab.errors import escape_control_characters
from trimtab.records.outcome import BytesBeforeAfter, EnvironmentOutcome, mb


def environment_table(environment: EnvironmentOutcome) -> Table:
    """Return a table of the whole, on disk and compressed, and of its parts."""
    whole = "the whole image" if environment.kind == "image" else "the whole environment"
    table = Table("", "before", "after", "less")
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row(f"{whole}, on disk", *change_cells(environment.disk), style="bold")
    if environment.compressed:
        table.add_row(f"{whole}, compressed", *change_cells(environment.compressed), style="bold")
    own_bytes = environment.disk.after_bytes - environment.shared_bytes
    table.add_row("of it not shared with the original", "", _mb(own_bytes), "")
    table.add_section()
    for part in environment.parts:
        number = "" if part.files is None else f"{part.files:,} "
        table.add_row(escape_control_characters(f"{number}{part.name}"), *change_cells(part))
    return table


def format_suggestions(environment: EnvironmentOutcome) -> Iterator[str]:
    """Yield suggestions that would remove more, with their options."""
    for more in environment.more:
        option = f", with --{more.option.replace(': ', ' ')}" if more.option else ""
        at_most = mb(more.at_most_bytes)
        yield escape_control_characters(
            f"would bring more: {more.what}: at most {at_most} MB more{option}"
        )


def change_cells(change: BytesBeforeAfter) -> tuple[str, str, str]:
    """Return the cells before, after and less."""
    less = "" if change.less_pct is None else f"{change.less_pct:.1f} %"
    return _mb(change.before_bytes), _mb(change.after_bytes), less


def _mb(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
