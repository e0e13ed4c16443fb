"""What `trimtab image compare` shows."""

from collections.abc import Callable

from rich.table import Table
from rich.text import Text

from trimtab.debloating.images.comparing import Compared, Side
from trimtab.errors import visible

_LARGEST = 15
_LARGE_BYTES = 10_000_000
_MOST_SHOWN = 6


def sides_table(compared: Compared) -> Table:
    """Return a table with a column for each image: sizes, provisioning, and what may be run."""
    table = Table("image", "before", "after", "less")
    sides = compared.before, compared.after
    _add_bytes(table, "all files", sides, lambda side: side.file_bytes)
    _add_bytes(table, "layers", sides, lambda side: side.weight.uncompressed_bytes)
    _add_bytes(table, "layers, compressed", sides, lambda side: side.weight.compressed_bytes)
    table.add_section()
    for words, part in (("save", "save_s"), ("transfer", "transfer_s"), ("unpack", "unpack_s"),
                        ("provisioning", "total_s")):  # fmt: skip
        before, after = (getattr(side.provisioning, part) for side in sides)
        table.add_row(f"{words}, modelled", f"{before:.1f} s", f"{after:.1f} s",
                      _less(before, after))  # fmt: skip
    table.add_section()
    _add_number(table, "files", [side.files for side in sides])
    for words, part in (("executables", "executables"), ("setuid and the like", "setuid"),
                        ("shells", "shells"), ("interpreters", "interpreters")):  # fmt: skip
        paths = [getattr(side.surface, part) for side in sides]
        _add_number(table, words, [len(each) for each in paths])
        if part != "executables" and 0 < len(paths[1]) <= _MOST_SHOWN:
            table.add_row(Text(f"  left: {visible(' '.join(paths[1]))}", "dim"))
    return table


def removed_table(compared: Compared) -> Table:
    """Return a table of what went: by package, by kind, and all."""
    gone = compared.gone
    table = Table("files that went", "MB", "")
    for sizes, of_none in (
        (gone.bytes_by_package(), "of no package"),
        (gone.bytes_by_kind(), ""),
    ):
        rows = list(sizes.items())
        for name, size_bytes in rows[:_LARGEST]:
            table.add_row(visible(str(name) or of_none), _mb(size_bytes), "")
        if rest := rows[_LARGEST:]:
            size_bytes = sum(size for _, size in rest)
            table.add_row(f"{len(rest)} smaller", _mb(size_bytes), "")
        table.add_section()
    table.add_row("all that went", _mb(gone.removed_bytes), f"{gone.removed_files:,} files")
    table.add_row(
        "of files that stayed", _mb(compared.smaller_bytes), f"{compared.smaller_files:,} files"
    )
    return table


def large_files_table(compared: Compared) -> Table | None:
    """Return a table of the files above 10 MB that went; None where there are none."""
    large = [file for file in compared.gone.removed if file.size_bytes > _LARGE_BYTES]
    if not large:
        return None
    table = Table("above 10 MB", "MB", "package")
    for file in sorted(large, key=lambda file: -file.size_bytes):
        table.add_row(visible(file.path), _mb(file.size_bytes), visible(file.package))
    return table


def _add_bytes(
    table: Table, words: str, sides: tuple[Side, Side], size: Callable[[Side], int]
) -> None:
    before, after = map(size, sides)
    table.add_row(words, f"{_mb(before)} MB", f"{_mb(after)} MB", _less(before, after))


def _add_number(table: Table, words: str, numbers: list[int]) -> None:
    table.add_row(words, *(f"{number:,}" for number in numbers), _less(*numbers))


def _less(before: float, after: float) -> str:
    return f"{1 - after / before:.1%}" if before else ""


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f}"
