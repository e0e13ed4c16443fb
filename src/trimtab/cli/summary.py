"""The summary of `trimtab debloat`: reductions of libraries and of the whole."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from trimtab.binaries.rewriting.read_back import WRITTEN_WRONGLY
from trimtab.cli.format_settling import format_settling
from trimtab.cli.results.environment_table import (
    change_cells,
    environment_table,
    format_suggestions,
)
from trimtab.config.groups.debloat import PackageDatabase
from trimtab.errors import escape_control_characters
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.processes.program import ended
from trimtab.processes.root import INIT
from trimtab.records.manifest import Manifest
from trimtab.records.misses.held_out import HeldOutInput
from trimtab.records.misses.settling import Settling
from trimtab.records.outcome import BytesBeforeAfter
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import FILES, LARGE_FILE_BYTES, LIBRARIES

_LARGEST = 10
_MOST_PROGRAMS = 3


def summary_of(folder: Path, settling: Settling) -> Iterator[Table | str]:
    """Yield the results in a workspace: the whole environment, then its parts.

    Then come the largest libraries, and suggestions.
    """
    (environment,) = outcome_in(folder).environments
    libraries = read_table(folder / "libraries.parquet", LIBRARIES).set_index("library")
    sizes = libraries[["disk_before_bytes", "disk_after_bytes"]]
    yield environment_table(environment)
    table = Table("libraries that were loaded, on disk", "before", "after", "less")
    largest = sizes.nlargest(_LARGEST, "disk_before_bytes")
    for library, before, after in largest.itertuples():
        cells = change_cells(BytesBeforeAfter(int(before), int(after)))
        table.add_row(str(library).rpartition("site-packages/")[2], *cells)
    if len(sizes) > _LARGEST:
        others = BytesBeforeAfter(*map(int, sizes.sum() - largest.sum()))
        table.add_row(f"{len(sizes) - _LARGEST} smaller ones", *change_cells(others))
    wrongly = [why for why in libraries["reason"] if WRITTEN_WRONGLY in why]
    table.caption = Text(
        escape_control_characters("; ".join([format_settling(settling), *wrongly]))
    )
    yield table
    yield from format_suggestions(environment)


def removed_files_in(folder: Path) -> Table | None:
    """Return the removed files, by package and by kind, and large ones; None if all stay."""
    totals = Manifest.read(folder / "manifest.json").removed_files
    if totals is None:
        return None
    paths = read_table(folder / "files.parquet", FILES)
    removed = paths[paths["counts"] & ~paths["kept"]]
    table = Table("files that went", "files", "bytes")
    for column, of_none in (("package", "of no package"), ("kind", "")):
        groups = removed.groupby(column)["size_bytes"].agg(["count", "sum"])
        groups = groups.sort_values("sum", ascending=False, kind="stable")
        for name, number, size_bytes in groups.head(_LARGEST).itertuples():
            table.add_row(
                Text(escape_control_characters(str(name) or of_none)),
                f"{number:,}",
                _mb(size_bytes),
            )
        if len(groups) > _LARGEST:
            number, size_bytes = groups[_LARGEST:].sum()
            table.add_row(f"{len(groups) - _LARGEST} smaller", f"{number:,}", _mb(size_bytes))
        table.add_section()
    groups = removed[removed["group"] != ""].groupby("group")["size_bytes"].agg(["count", "sum"])
    for name, number, size_bytes in groups.sort_values("sum", ascending=False).itertuples():
        table.add_row(f"--keep {name}", f"{number:,}", _mb(size_bytes))
    table.add_section()
    large = removed[removed["size_bytes"] > LARGE_FILE_BYTES]
    for path, size_bytes in large.nlargest(_LARGEST, "size_bytes")[["path", "size_bytes"]].values:
        table.add_row(Text(escape_control_characters(path)), "", _mb(size_bytes))
    if len(large) > _LARGEST:
        table.add_row(f"{len(large) - _LARGEST} more above {_mb(LARGE_FILE_BYTES)}", "", "")
    table.add_section()
    table.add_row("all that went", f"{totals.removed_files:,}", _mb(totals.removed_bytes))
    table.add_row("all that stay", f"{totals.kept_files:,}", _mb(totals.kept_bytes))
    return table


def held_out_table(inputs: Sequence[HeldOutInput]) -> Table:
    """Return the misses of each held-out input, under each behaviour."""
    table = Table("held-out input", "behaviour", "missed", "ended")
    for held in inputs:
        words = Text(escape_control_characters(" ".join(held.command)))
        for run in held.runs:
            equal = "with equal output" if run.equal else "with another output"
            if held.own_exit_code is not None:
                equal = f"{ended(held.own_exit_code)}, as in the original, {equal}"
            end = run.ended or equal
            table.add_row(
                words, run.behaviour, f"{run.missed:,}", Text(escape_control_characters(end))
            )
        if held.problem:
            first = held.problem.splitlines()[0]
            table.add_row(
                words, "", "", Text(escape_control_characters(f"cannot be judged: {first}"))
            )
        table.add_section()
    return table


def format_missed(inputs: Sequence[HeldOutInput]) -> Iterator[str]:
    """Yield the misses of each input, by name: the first ones, and the number of others."""
    for held in inputs:
        first, more = held.names[:_LARGEST], len(held.names) - _LARGEST
        rest = [f"{more:,} more in verify.json"] if more > 0 else []
        if first:
            yield f"{held.name} missed {', '.join([*first, *rest])}"


def format_unserved(programs: Mapping[str, str]) -> str:
    """Return the programs, with their kinds, for which libraries stay whole."""
    named = [f"{escape_control_characters(path)} ({kind})" for path, kind in programs.items()]
    first, more = named[:_MOST_PROGRAMS], len(named) - _MOST_PROGRAMS
    rest = [f"{more:,} more"] if more > 0 else []
    return f"functions were not traced in {', '.join(first + rest)}: what they load stays whole"


def format_other_programs(has_unserved: bool) -> str:
    """Return how to start any of the original's programs in a running container.

    `has_unserved`: some executed programs load no library, and get nothing back when started alone.
    """
    which = "removed programs, and has files come back to those above" if has_unserved else ""
    return f"docker exec CONTAINER /{INIT} COMMAND starts {which or 'removed programs'} too"


def format_scanners(folder: Path, choice: PackageDatabase) -> str:
    """Return what package scanners find in the slim environment of a workspace."""
    files = read_table(folder / "files.parquet", FILES)
    packages = files[files["package"] != ""]
    kept, every = packages[packages["kept"]]["package"].nunique(), packages["package"].nunique()
    here = f"files of {kept:,} of {every:,} packages stay"
    if choice == PackageDatabase.KEEP:
        return f"{here}, and scanners find these"
    return (
        f"{here}, but the package database is dropped: scanners find no packages and report no"
        " vulnerabilities"
    )


def _mb(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
