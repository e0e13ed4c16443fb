"""Read the records that `inside_program` left; the recorded program may have damaged them."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.untrusted import lines_of_untrusted, names_in_untrusted

_MOST_PROCESSES = 10_000
_MOST_BYTES, _MOST_LINES = 1 << 27, 1_000_000  # of a record
_KINDS = {
    "process": (str, str, str, str),
    "import": (int, int, str, str, str, str, int, int, int, int),
    "ran": (str, int, str),
    "end": (str,),
}
_MOST = 1 << 44  # nanoseconds, or pages
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class ImportEvent:
    """An import: by which module, how long, and by how much private memory grew meanwhile.

    `number` is its number in the process, `above` that of the import within which it ran, or -1.
    `kind` is python, native, built_in, namespace, failed or other.
    """

    number: int
    above: int
    name: str
    importer: str
    kind: str
    file: str
    total_s: float
    growth_bytes: int


@dataclass
class ProcessRecord:
    """A process: its imports, and by file how many functions ran and which names they read.

    Generated code has no file: its place is `module NAME`. `has_end` is false for a process that
    was killed, of which no functions are known.
    """

    name: str
    forked_from: str
    version: str
    method: str
    command: tuple[str, ...]
    main: str = ""
    has_end: bool = False
    imports: list[ImportEvent] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    names: dict[str, frozenset[str]] = field(default_factory=dict)


def read_records(folder: Path) -> list[ProcessRecord]:
    """Return the records in a folder, in the order of their beginning; damaged lines are left out.

    Raises UntrustedFileError for one that is no regular file, or too large.
    """
    found = []
    for name in names_in_untrusted(folder, _MOST_PROCESSES):
        if (record := _read(folder / name)) is not None:
            found.append(record)
    return sorted(found, key=lambda record: record.name.rpartition("-")[2].zfill(20))


def _read(path: Path) -> ProcessRecord | None:
    record = None
    for kind, values in _lines(path):
        if kind == "process":
            forked_from, version, method, _, *command = values
            record = ProcessRecord(path.name, forked_from, version, method, tuple(command))
        elif record is None:
            return None
        elif kind == "import":
            record.imports.append(_event(*values))
        elif kind == "ran":
            place, functions, names = values
            record.functions[place] = functions
            record.names[place] = frozenset(names.split(" "))
        else:
            record.main, record.has_end = values[0], True
    return record


def _lines(path: Path) -> Iterator[tuple[str, list[Any]]]:
    for line in lines_of_untrusted(path, _MOST_BYTES, _MOST_LINES):
        try:
            kind, *values = ast.literal_eval(line.decode("ascii"))
            wanted = _KINDS[kind]
        except (ValueError, TypeError, SyntaxError, KeyError, MemoryError, RecursionError):
            continue
        rest = values[len(wanted) :]
        if len(values) < len(wanted) or not all(map(isinstance, values, wanted)):
            continue
        if all(isinstance(word, str) for word in rest) and (kind == "process" or not rest):
            yield kind, values


def _event(
    number: int, above: int, name: str, importer: str, kind: str, file: str,
    began_ns: int, ended_ns: int, before_pages: int, after_pages: int,
) -> ImportEvent:  # fmt: skip
    growth_bytes = _limited(after_pages - before_pages) * _PAGE_BYTES
    total_s = _limited(max(0, ended_ns - began_ns)) / 1e9
    return ImportEvent(number, above, name, importer, kind, file, total_s, growth_bytes)


def _limited(number: int) -> int:
    """Return a number of the record, which may be any, within what tables can have."""
    return max(-_MOST, min(_MOST, number))
