"""Rules of relation: what each keeps on disk, and what other inputs and programs then miss.

`relations.py FOLDER...`: usages of programs, NAME.json, of another input of the same program,
NAME@heldout.json, and of the same input under other conditions, NAME@repeat.json.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import pandas as pd
from common import RESULTS, machine, save
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PAGE_BYTES
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.relations.addresses import address_taken
from trimtab.binaries.relations.calls import with_called
from trimtab.binaries.relations.code import Code
from trimtab.binaries.relations.likely import SMALL_BYTES, with_small_relatives
from trimtab.binaries.relations.type_slots import life_cycle_slots
from trimtab.binaries.relations.vtables import vtable_siblings
from trimtab.binaries.rewriting.locate import locate
from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans
from trimtab.binaries.rewriting.whole_pages import whole_pages
from trimtab.files import atomic_write
from trimtab.records.usage import Usage

Marks = NDArray[np.bool_]
Step = Callable[[Code, Marks], Marks]


def _and(rule: Step) -> Step:
    return lambda code, kept: kept | rule(code, kept)


def _all_of_small_libraries(kib: int) -> Step:
    return lambda code, kept: kept | ((code.size.sum() < kib * 1024) & kept.any())


def _small(size_bytes: int) -> Step:
    return partial(with_small_relatives, largest_bytes=size_bytes)


TYPES, CALLS = _and(life_cycle_slots), with_called
TABLES, ADDRESSES = _and(vtable_siblings), _and(address_taken)
DEFAULT = f"calls, types, relatives of at most {SMALL_BYTES} B"
MINIMUM_HOLE_BYTES = 8 << 10  # at which the rules are compared
# What each rule does to the functions that ran, in turn, and which runs of pages leave.
RULES: dict[str, tuple[tuple[Step, ...], int]] = {
    "what ran": ((), MINIMUM_HOLE_BYTES),
    "calls": ((CALLS,), MINIMUM_HOLE_BYTES),
    "calls, types": ((TYPES, CALLS), MINIMUM_HOLE_BYTES),
    "calls, types, tables": ((TYPES, CALLS, TABLES), MINIMUM_HOLE_BYTES),
    "calls, types, tables, their calls": ((TYPES, CALLS, TABLES, CALLS), MINIMUM_HOLE_BYTES),
    "calls, types, addresses": ((TYPES, CALLS, ADDRESSES), MINIMUM_HOLE_BYTES),
    "calls, types, addresses, their calls": ((TYPES, CALLS, ADDRESSES, CALLS), MINIMUM_HOLE_BYTES),
    "calls, types, addresses, tables": ((TYPES, CALLS, ADDRESSES, TABLES), MINIMUM_HOLE_BYTES),
    "calls, types, addresses, tables, their calls": (
        (TYPES, CALLS, ADDRESSES, TABLES, CALLS),
        MINIMUM_HOLE_BYTES,
    ),
    "calls, types, libraries below 128 KiB": (
        (TYPES, CALLS, _all_of_small_libraries(128)),
        MINIMUM_HOLE_BYTES,
    ),
    **{
        f"calls, types, relatives of at most {size} B": (
            (TYPES, CALLS, _small(size)),
            MINIMUM_HOLE_BYTES,
        )
        for size in (128, 256, 512, 1024)
    },
    **{
        f"{DEFAULT}, holes from {hole // 1024} KiB": ((TYPES, CALLS, _small(SMALL_BYTES)), hole)
        for hole in (4096, 16384, 32768)
    },
}


@dataclass(frozen=True)
class Task:
    """A library and what each program (by name) used of it."""

    path: Path
    used: dict[str, NDArray[np.int64]]


def main() -> None:
    """Measure every rule in every library, and save a table of rules and one of programs."""
    tasks, programs = _tasks(map(Path, sys.argv[1:]))
    with Pool(2) as pool:
        parts = pool.imap_unordered(_measure, tasks)
        sizes, misses = (pd.concat(each) for each in zip(*parts, strict=True))
    sizes = sizes.groupby(["rule", "program"], as_index=False).sum()
    for what in ("disk", "function"):
        removed = sizes[f"{what}_removed_bytes"] / sizes[f"{what}_bytes"]
        sizes[f"{what}_removed_percent"] = 100 * removed
    keys = ["rule", "program", "kind", "other"]
    misses = misses.groupby(keys, as_index=False).sum()
    table = _summary(sizes, misses)
    with atomic_write(RESULTS / "relations.csv") as temporary:
        table.round(2).to_csv(temporary, index=False)
    by_program = _by_program(sizes, misses)
    with atomic_write(RESULTS / "relations_programs.csv") as temporary:
        by_program.round(2).to_csv(temporary, index=False)
    rows = table.set_index("rule").round(2)
    shares = by_program.set_index("program")["disk_removed_percent"].round(2)
    figures: dict[str, object] = {
        "programs": programs,
        "calls": rows.loc["calls"].to_dict(),
        "default": rows.loc[DEFAULT].to_dict(),
        "disk_removed_percent": shares.to_dict(),
    }
    save("relations", figures)
    print(machine(), table.to_string(), sep="\n")


def _tasks(folders: Iterator[Path]) -> tuple[list[Task], int]:
    used: dict[Path, dict[str, NDArray[np.int64]]] = {}
    programs = set()
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
            programs.add(f"{folder.name}/{path.stem.partition('@')[0]}")
            for library in Usage.read(path).libraries:
                if library.traced and "site-packages" in Path(library.path).parts:
                    by_program = used.setdefault(Path(library.path), {})
                    by_program[f"{folder.name}/{path.stem}"] = np.array(
                        library.used_functions, np.int64
                    )
    tasks = [Task(path, each) for path, each in used.items()]
    return sorted(tasks, key=lambda task: -task.path.stat().st_size), len(programs)


def _measure(task: Task) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the sizes (rule, program) and the misses (rule, program, other) in one library."""
    elf = read_elf(task.path)
    functions = read_functions(elf)
    code = Code.of(elf, functions)
    least = locate(elf, functions, np.zeros(len(functions), bool), keep_symbols=False)
    ran = {name: np.isin(code.start, used) for name, used in task.used.items()}
    sizes, misses = [], []
    for rule, (steps, hole) in RULES.items():
        done: dict[bytes, tuple[Marks, Spans]] = {}
        for name in (name for name in ran if "@" not in name):
            key = ran[name].tobytes()
            if key not in done:
                kept = ran[name]
                for step in steps:
                    kept = step(code, kept)
                done[key] = kept, whole_pages(elf, _painted(least, code, kept), hole)
            kept, spans = done[key]
            removed = _removed_before(spans)
            lost = removed(code.offset + code.size) - removed(code.offset)
            sizes.append(
                (rule, name, elf.size_bytes, spans.removed_bytes, code.size.sum(), lost.sum())
            )
            for other, kind in _others(name, ran):
                missed = ran[other] & ~kept & (lost > 0)
                misses.append(
                    (rule, name, kind, other, missed.sum(), _pages(code, missed, removed))
                )
    return (
        pd.DataFrame(sizes, columns=["rule", "program", "disk_bytes", "disk_removed_bytes",
                                     "function_bytes", "function_removed_bytes"]),
        pd.DataFrame(misses, columns=["rule", "program", "kind", "other", "functions", "pages"]),
    )  # fmt: skip


def _others(name: str, ran: dict[str, Marks]) -> Iterator[tuple[str, str]]:
    """Yield the other usages and what each is to the program `name`."""
    for other in ran:
        base, _, kind = other.partition("@")
        if base == name and kind:
            yield other, kind
        elif base != name and kind != "repeat":
            yield other, "other program"


def _painted(least: Spans, code: Code, kept: Marks) -> Spans:
    """Return the spans with these functions kept, of spans where all that can go goes."""
    canvas = Canvas(least.end.copy(), least.reason.copy())
    order = np.argsort(code.offset)
    low, high, chosen = (each[order] for each in (code.offset, code.offset + code.size, kept))
    canvas.paint(low[chosen], high[chosen], SpanReason.USED)
    return Spans(canvas.end, canvas.reason, least.build_id, least.note)


def _removed_before(spans: Spans) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    """Return a function that says how many removed bytes are before offsets of the file."""
    lengths = np.where(spans.kept, 0, spans.end - spans.start)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))

    def removed_before(offset: NDArray[np.int64]) -> NDArray[np.int64]:
        span = np.searchsorted(spans.end, offset, "right").clip(max=spans.end.size - 1)
        return before[span] + np.where(spans.kept[span], 0, offset - spans.start[span])

    return removed_before


def _pages(
    code: Code,
    missed: Marks,
    removed: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> int:
    """Return how many removed pages hold the missed functions: at most so many faults."""
    first = code.offset[missed] // PAGE_BYTES
    last = (code.offset + code.size)[missed] - 1
    count = last // PAGE_BYTES - first + 1
    page = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
    page = np.unique(page)
    gone = removed((page + 1) * PAGE_BYTES) > removed(page * PAGE_BYTES)
    return int(gone.sum())


def _summary(sizes: pd.DataFrame, misses: pd.DataFrame) -> pd.DataFrame:
    disk = sizes.groupby("rule")["disk_removed_percent"]
    table = pd.DataFrame(
        {
            "disk_removed_percent_mean": disk.mean(),
            "disk_removed_percent_least": disk.min(),
            "function_bytes_removed_percent_mean": sizes.groupby("rule")[
                "function_removed_percent"
            ].mean(),
        }
    )
    for kind, rows in misses.groupby("kind"):
        for unit in ("functions", "pages"):
            by_rule = rows.groupby("rule")[unit]
            name = f"{str(kind).replace(' ', '_')}_missed_{unit}"
            table[f"{name}_mean"], table[f"{name}_most"] = by_rule.mean(), by_rule.max()
        clean = rows.assign(clean=100.0 * (rows["functions"] == 0)).groupby("rule")["clean"]
        table[f"{str(kind).replace(' ', '_')}_without_a_miss_percent"] = clean.mean()
    return table.loc[list(RULES)].reset_index()


def _by_program(sizes: pd.DataFrame, misses: pd.DataFrame) -> pd.DataFrame:
    """Return a row a program for the default: what it loses on disk, and what others miss."""
    shares = sizes[sizes["rule"] == DEFAULT].set_index("program")
    table = shares[["disk_bytes", "disk_removed_percent", "function_removed_percent"]].copy()
    rows = misses[misses["rule"] == DEFAULT]
    for kind, each in rows.groupby("kind"):
        by_program = each.groupby("program")["functions"]
        table[f"{str(kind).replace(' ', '_')}_missed_functions_mean"] = by_program.mean()
    return table.reset_index()


if __name__ == "__main__":
    main()
