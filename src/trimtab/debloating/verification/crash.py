"""Find the library and the function of the original in which a slim program crashed."""

import os
import re
import signal
from dataclasses import replace
from pathlib import Path

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.native import native_path, with_preload
from trimtab.processes.launch import followed
from trimtab.processes.program import Program
from trimtab.records.verdict import Crash
from trimtab.untrusted import UntrustedFileError, lines_of_untrusted, remove_existing

_MOST_BYTES, _MOST_LINES = 1 << 20, 1000
# native/crash_reporter/crash.c: process, signal, address in the library, address, library
_LINE = re.compile(rb"\d+\t(\d{1,2})\t([0-9a-f]{1,12})\t[0-9a-f]{1,16}\t([^\0]*)")
_SIGNALS = {int(each): each.name for each in signal.Signals}


def find_crash(program: Program, folder: Path, slim: Path, original: Path) -> Crash | None:
    """Run `program` once more and return where a signal ended it, or None.

    `slim` and `original` are the two environments: names of removed functions come from the
    original library, as the slim one may be stripped. The run leaves `diagnosis.out`,
    `diagnosis.err` and `crash.txt` in `folder`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "crash.txt"
    remove_existing(record)
    record.touch()
    program = program.with_access_to(record)
    environment = with_preload(program.environment, native_path("libtrimtab-crash.so"))
    environment["TRIMTAB_CRASH"] = str(record.resolve())
    reporting = replace(program, environment=environment)
    for _ in followed(reporting, folder / "diagnosis.out", folder / "diagnosis.err"):
        continue
    try:
        line = next(lines_of_untrusted(record, _MOST_BYTES, _MOST_LINES), b"")
    except (FileNotFoundError, UntrustedFileError):
        return None
    # The first line is the first process that crashed; others may have crashed because of it.
    match = _LINE.fullmatch(line)
    if match is None or int(match[1]) not in _SIGNALS:
        return None
    path, address = str(program.outside(os.fsdecode(match[3]))), int(match[2], 16)
    return Crash(
        signal=_SIGNALS[int(match[1])],
        library=path,
        address=address,
        function=_function_at(path, address, slim, original),
    )


def _function_at(path: str, address: int, slim: Path, original: Path) -> str:
    """The name of the original library's function at `address`, or the function's start."""
    library = Path(path)
    if library.is_relative_to(slim.resolve()):
        library = original / library.relative_to(slim.resolve())
    try:
        elf = read_elf(library)
    except (ElfError, OSError):
        return ""
    functions = read_functions(elf)
    at = int(functions.start.searchsorted(address, side="right")) - 1
    if at < 0 or address >= int(functions.start[at] + functions.size[at]):
        return ""
    start = int(functions.start[at])
    return function_names(elf).of(start) or f"the function at {start:#x}"
