"""The tables of `trimtab image start`."""

from collections.abc import Callable
from statistics import median

from rich.table import Table

from trimtab.errors import escape_control_characters
from trimtab.records.images.cold_start import ColdRound, ColdSide, ColdStart

_MOST_PACKAGES = 15
_SHORT_S = 0.001


def steps_table(measured: ColdStart) -> Table:
    """Return a table with a column per image: the median, range and share of each step."""
    table = Table("median (from to), share", "before", "after", "less")
    sides = measured.before, measured.after
    steps: dict[str, Callable[[ColdRound], float]] = {
        f"pull at {measured.gbit_per_s:g} Gbit/s": lambda took: took.pull_s,
        "unpack": lambda took: took.unpack_s,
        f"start, {measured.processors} processors": lambda took: took.start_s,
        "all three": lambda took: took.total_s,
        "start, one processor": lambda took: took.start_one_core_s,
    }
    for words, of in steps.items():
        shown = [_range(side, of, with_share=of is not list(steps.values())[-1]) for side in sides]
        medians = [median(map(of, side.rounds)) for side in sides]
        table.add_row(words, *shown, _less(*medians))
        if words == "all three":
            table.add_section()
    table.add_section()
    sizes = [side.compressed_bytes for side in sides]
    packed = f"layers, {measured.compression}"
    table.add_row(packed, *(f"{size / 1e6:,.1f} MB" for size in sizes), _less(*sizes))
    times = [side.transfer_s for side in sides]
    table.add_row("their transfer, modelled", *(f"{time:.2f} s" for time in times), _less(*times))
    return table


def left_table(measured: ColdStart) -> Table:
    """Return a table of the parts of one more start, and the packages left in the second image."""
    table = Table("one more start", "before", "after")
    sides = measured.before, measured.after
    table.add_row("all of it", *(f"{side.parts.start_s:.2f} s" for side in sides))
    for words, of in (("until the dynamic linker is done", _loader), ("Python's imports", _imports),
                      ("the rest", _rest)):  # fmt: skip
        table.add_row(words, *map(of, sides))
    table.add_section()
    table.add_row("read before the first output", *map(_read, sides))
    table.add_row("chunks of 4 MiB that it lies in", *map(_chunks, sides))
    pythons = [side.parts.python for side in sides]
    if any(pythons):
        for words, values in (
            (
                "folders listed for modules",
                [python and python.listed_folders for python in pythons],
            ),
            ("modules without byte code", [python and python.compiled_files for python in pythons]),
        ):
            shown = ("" if value is None else f"{value:,}" for value in values)
            table.add_row(words, *shown)
    if python := measured.after.parts.python:
        table.add_section()
        before_s = {} if pythons[0] is None else {
            package.name: package.import_s for package in pythons[0].packages
        }  # fmt: skip
        for package in python.packages[:_MOST_PACKAGES]:
            if package.import_s >= _SHORT_S:
                unused = ", never called" if package.called is False else ""
                table.add_row(
                    f"import {escape_control_characters(package.name)} ({package.modules}){unused}",
                    f"{before_s[package.name]:.3f} s" if package.name in before_s else "",
                    f"{package.import_s:.3f} s",
                )
    return table


def _range(side: ColdSide, of: Callable[[ColdRound], float], with_share: bool) -> str:
    values = [of(took) for took in side.rounds]
    whole = median(took.total_s for took in side.rounds)
    share = f", {median(values) / whole:.0%}" if with_share and whole else ""
    return f"{median(values):.2f} s ({min(values):.2f} to {max(values):.2f}){share}"


def _loader(side: ColdSide) -> str:
    return "" if side.parts.loader_s is None else f"{side.parts.loader_s:.3f} s"


def _imports(side: ColdSide) -> str:
    return "" if side.parts.python is None else f"{side.parts.python.import_s:.2f} s"


def _rest(side: ColdSide) -> str:
    return f"{side.parts.rest_s:.2f} s"


def _read(side: ColdSide) -> str:
    needed = side.needed
    return (
        f"{needed.page_bytes / 1e6:,.1f} of {needed.all_bytes / 1e6:,.1f} MB,"
        f" {needed.files:,} of {needed.all_files:,} files"
    )


def _chunks(side: ColdSide) -> str:
    needed = side.needed
    share = needed.chunk_bytes / needed.all_bytes if needed.all_bytes else 0.0
    packed = needed.chunk_compressed_bytes
    alone = "" if packed is None else f", {packed / 1e6:,.1f} MB compressed"
    return f"{needed.chunk_bytes / 1e6:,.1f} MB, {share:.0%}{alone}"


def _less(before: float, after: float) -> str:
    return f"{1 - after / before:.1%}" if before else ""
