"""Where a program died in a slim environment: which library, and which function of the original."""

import signal
from dataclasses import replace
from pathlib import Path

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.native import native_path, with_preload
from trimtab.profiling.runs.launch import followed
from trimtab.profiling.runs.program import Program
from trimtab.records.verdict import Crash


def find_crash(program: Program, folder: Path, slim: Path, original: Path) -> Crash | None:
    """Run `program` once more and say where it dies, or None when it does not by a signal.

    `slim` and `original` are the two environments: the name of a removed function is looked up in
    the original library, as symbols may be stripped from the slim one. What the run wrote is left
    in `folder` as `diagnosis.out`, `diagnosis.err` and `crash.txt`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "crash.txt"
    record.unlink(missing_ok=True)
    record.touch()
    program.give(record)
    environment = with_preload(program.environment, native_path("libtrimtab-crash.so"))
    environment["TRIMTAB_CRASH"] = str(record.resolve())
    reporting = replace(program, environment=environment)
    for _ in followed(reporting, folder / "diagnosis.out", folder / "diagnosis.err"):
        continue
    if not record.stat().st_size:
        return None
    # The first line is the first process that died; others may have died of it.
    _, number, address, _, path = record.read_text().splitlines()[0].split("\t")
    return Crash(
        signal=signal.Signals(int(number)).name,
        library=path,
        address=int(address, 16),
        function=_function_at(path, int(address, 16), slim, original),
    )


def _function_at(path: str, address: int, slim: Path, original: Path) -> str:
    """The name of the function that the original library has at `address`, or its start."""
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
