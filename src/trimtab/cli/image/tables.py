"""The tables of `trimtab image compare`."""

from collections.abc import Callable, Sequence

from rich.table import Table
from rich.text import Text

from trimtab.debloating.files.kinds_of_files import FileKind
from trimtab.debloating.images.comparing import Compared, ComparedImage
from trimtab.debloating.images.exposure.gadgets import (
    KINDS,
    PRACTICAL,
    PRACTICAL_WITH_ASLR,
    TURING_COMPLETE,
)
from trimtab.errors import escape_control_characters
from trimtab.records.images.comparison import Step
from trimtab.records.tables import LARGE_FILE_BYTES

UNKNOWN = "\N{EN DASH}"
_LARGEST = 15
_MOST_SHOWN = 6
_CLASSES = (
    ("practical", PRACTICAL, "practical"),
    ("practical with ASLR", PRACTICAL_WITH_ASLR, "practical_with_aslr"),
    ("Turing-complete", TURING_COMPLETE, "turing_complete"),
)
_PATHS: dict[str, Callable[[ComparedImage], Sequence[str]]] = {
    "setuid and the like": lambda side: side.surface.setuid,
    "shells": lambda side: side.surface.shells,
    "interpreters": lambda side: side.surface.interpreters,
    "that listen": lambda side: side.binaries.listening,
    "that connect": lambda side: side.binaries.connecting,
    "that speak TLS": lambda side: side.binaries.encrypting,
    "binaries not understood": lambda side: side.binaries.others,
}


def sides_table(compared: Compared) -> Table:
    """Return a table with a column per image: sizes, provisioning, and executables."""
    table = Table("image", "before", "after", "less")
    sides = compared.before, compared.after
    _add_bytes(table, "all files", sides, lambda side: side.file_bytes)
    _add_bytes(table, "layers", sides, lambda side: side.weight.uncompressed_bytes)
    _add_bytes(table, "layers, compressed", sides, lambda side: side.weight.compressed_bytes)
    table.add_section()
    for words in ("save", "transfer", "unpack"):
        steps: list[Step] = [getattr(side.provisioning, words) for side in sides]
        sources = " and ".join(dict.fromkeys(step.source for step in steps))
        _add_seconds(table, f"{words}, {sources}", [step.wall_s for step in steps])
    _add_seconds(table, "provisioning", [side.provisioning.total_s for side in sides])
    table.add_section()
    _add_number(table, "files", [side.files for side in sides])
    _add_number(table, "packages", [len(side.packages) for side in sides])
    _add_number(table, "executables", [len(side.surface.executables) for side in sides])
    for words, listed in _PATHS.items():
        paths = [listed(side) for side in sides]
        _add_number(table, words, [len(each) for each in paths])
        if 0 < len(paths[1]) <= _MOST_SHOWN:
            table.add_row(Text(f"  left: {escape_control_characters(' '.join(paths[1]))}", "dim"))
    _add_gadgets(table, sides)
    _add_vulnerabilities(table, sides)
    return table


def removed_table(compared: Compared) -> Table:
    """Return a table of removed files: by package, by kind, by reason, and in total."""
    gone = compared.gone
    table = Table("files that went", "files", "MB")
    by_reason: dict[str, tuple[int, int]] = {}
    for file in gone.removed:
        number, size_bytes = by_reason.get(reason := compared.reason(file), (0, 0))
        by_reason[reason] = number + file.counts, size_bytes + file.size_bytes
    for totals, of_none in (
        (gone.removed_by_package(), "of no package"),
        (gone.removed_by_kind(), ""),
        (by_reason, ""),
    ):
        rows = list(totals.items())
        for name, (number, size_bytes) in rows[:_LARGEST]:
            table.add_row(
                escape_control_characters(str(name) or of_none), f"{number:,}", _mb(size_bytes)
            )
        if rest := rows[_LARGEST:]:
            number, size_bytes = (sum(part) for part in zip(*dict(rest).values(), strict=True))
            table.add_row(f"{len(rest)} smaller", f"{number:,}", _mb(size_bytes))
        table.add_section()
    table.add_row("all that went", f"{gone.removed_files:,}", _mb(gone.removed_bytes))
    table.add_row(
        "of files that stayed", f"{compared.smaller_files:,}", _mb(compared.smaller_bytes)
    )
    return table


def large_files_table(compared: Compared) -> Table | None:
    """Return a table of removed files above 10 MB; None without any."""
    large = [file for file in compared.gone.removed if file.size_bytes > LARGE_FILE_BYTES]
    if not large:
        return None
    table = Table("above 10 MB", "MB", "package")
    for file in sorted(large, key=lambda file: -file.size_bytes):
        table.add_row(
            escape_control_characters(file.path),
            _mb(file.size_bytes),
            escape_control_characters(file.package),
        )
    table.add_section()
    libraries = [file for file in large if file.kind is FileKind.SHARED_LIBRARY]
    for words, files in (("all of these", large), ("shared libraries", libraries)):
        table.add_row(words, _mb(sum(file.size_bytes for file in files)), f"{len(files):,} files")
    return table


def _add_gadgets(table: Table, sides: tuple[ComparedImage, ComparedImage]) -> None:
    before, after = (side.gadgets for side in sides)
    if before is None or after is None:
        return
    table.add_section()
    for place, kind in enumerate(KINDS):
        _add_number(table, f"gadgets, {kind}", [before.usable[place], after.usable[place]])
    scores = [
        UNKNOWN if it.mean_score is None else f"{it.mean_score:.2f}" for it in (before, after)
    ]
    table.add_row("their mean score, low is good", *scores, "")
    for words, number, part in _CLASSES:
        classes = [getattr(it, part).bit_count() for it in (before, after)]
        table.add_row(f"classes, {words}", *(f"{count} of {number}" for count in classes), "")
    files = [(side.binaries.gadgets or {}).values() for side in sides]
    _add_number(table, "files with all practical ones",
                [sum(it.is_sufficient for it in of_side) for of_side in files])  # fmt: skip


def _add_vulnerabilities(table: Table, sides: tuple[ComparedImage, ComparedImage]) -> None:
    before, after = (side.vulnerabilities for side in sides)
    if before is None or after is None:
        return
    table.add_section()
    found = before, after
    _add_number(table, "known vulnerabilities", [len({it.name for it in each}) for each in found])
    packages = [{(it.ecosystem, it.package, it.version) for it in each} for each in found]
    _add_number(table, "packages that have some", [len(some) for some in packages])


def _add_seconds(table: Table, words: str, seconds: list[float]) -> None:
    table.add_row(words, *(f"{each:.1f} s" for each in seconds), _less(*seconds))


def _add_bytes(
    table: Table,
    words: str,
    sides: tuple[ComparedImage, ComparedImage],
    size: Callable[[ComparedImage], int],
) -> None:
    before, after = map(size, sides)
    table.add_row(words, f"{_mb(before)} MB", f"{_mb(after)} MB", _less(before, after))


def _add_number(table: Table, words: str, numbers: list[int]) -> None:
    table.add_row(words, *(f"{number:,}" for number in numbers), _less(*numbers))


def _less(before: float, after: float) -> str:
    return f"{1 - after / before:.1%}" if before else ""


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f}"
