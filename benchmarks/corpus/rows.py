"""The corpus' tables: what a row holds, and how rows of several processes get into one file."""

import csv
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from trimtab.files import atomic_write

PROGRAMS, OTHERS = "corpus.csv", "corpus_others.csv"


@dataclass
class Row:
    """What was measured of one program in one environment; of one that failed, only why."""

    program: str
    environment: str
    date: str
    machine: str
    debloat_s: float = 0.0
    usable_s: float | None = None  # when the first slim environment was announced
    debloat_runs: int = 0  # of the program, that the command made
    environment_before_bytes: int = 0  # blocks of the file system, of every file once
    environment_after_bytes: int = 0
    libraries: int = 0
    libraries_before_bytes: int = 0
    libraries_after_bytes: int = 0
    runs: int = 0  # traced input, restored, varied conditions
    runs_equal: int = 0
    runs_without_miss: int = 0
    missed: int = 0  # different pieces and files that these runs asked for
    strict_runs: int = 0
    strict_runs_clean: int = 0
    risk_estimate: float | None = None  # that a run misses something, as debloat left it
    risk_bound: float | None = None
    held_out_runs: int = 0
    held_out_equal: int = 0
    held_out_missed: int = 0
    tests: int = 0
    tests_equal: int = 0
    other_runs: int = 0
    other_equal: int = 0
    other_missed: int = 0
    pairs: int = 0  # traced input, original and slim in turns, nothing missed: medians
    original_s: float | None = None
    slim_s: float | None = None
    wall_ratio: float | None = None  # slim by original of each pair: median and quartiles
    wall_ratio_low: float | None = None
    wall_ratio_high: float | None = None
    original_cpu_s: float | None = None
    slim_cpu_s: float | None = None
    cpu_ratio: float | None = None
    cpu_ratio_low: float | None = None
    cpu_ratio_high: float | None = None
    original_peak_rss_bytes: int | None = None
    slim_peak_rss_bytes: int | None = None
    original_calls: int | None = None  # system calls of all processes, one run each
    slim_calls: int | None = None
    differing: str = ""  # which runs, and where the program could not be measured, why


@dataclass
class OtherRow:
    """A program in the slim environment of another; its times in turns, in the order of runs."""

    program: str
    slim_environment_of: str
    environment: str
    runs: int
    equal: int
    missed: int
    original_s: str
    slim_s: str


ROW_KEYS = ("program", "environment")
OTHER_KEYS = ("program", "slim_environment_of", "environment")


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of the table at `path`; without it there are none."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_rows(
    path: Path, kind: type, keys: tuple[str, ...], rows: Sequence[Row] | Sequence[OtherRow]
) -> None:
    """Put `rows` into the table at `path`, in place of those that have the same `keys`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(path.parent):
        table = {tuple(row[key] for key in keys): row for row in read_rows(path)}
        for row in rows:
            values = {
                name: "" if value is None else str(value) for name, value in asdict(row).items()
            }
            table[tuple(values[key] for key in keys)] = values
        with atomic_write(path) as temporary, open(temporary, "w", newline="") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(kind)])
            writer.writeheader()
            writer.writerows(table[key] for key in sorted(table))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes that write tables in `folder` waiting while the block runs."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
