"""Split the time of a start, by the reports of the dynamic linker and of Python.

glibc's dynamic linker reports when it is done (LD_DEBUG=statistics, ld.so(8)), Python the time of
each import (PYTHONPROFILEIMPORTTIME, from 3.7 on). Both write lines to standard error, which are
read as they come. A separate run records later calls, as recording takes longer.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from trimtab.errors import UserError
from trimtab.processes.program import Program
from trimtab.profiling.cold_start import inside_python
from trimtab.profiling.cold_start.starting import OutputLine, first_output_s
from trimtab.records.images.cold_start import ImportedPackage, PythonStart, StartParts
from trimtab.untrusted import lines_of_untrusted

_TELLING = {"LD_DEBUG": "statistics", "PYTHONPROFILEIMPORTTIME": "1"}
_LINKED = re.compile(r"^\s*\d+:\s+runtime linker statistics:")
_IMPORT = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$")
_MODULE_PARTS = 2  # of a name: separates `torch.distributed` from `torch.nn`
_MOST_LOG_BYTES, _MOST_LINES = 1 << 26, 1_000_000


def take_apart(program: Program, stem: Path, before_each: Callable[[], None]) -> StartParts:
    """Return the parts of a start of `program`, as returned by `to_first_output`.

    `before_each` is called before each of its two runs. Raises as `first_output_s` does.
    """
    lines: list[OutputLine] = []
    before_each()
    telling = replace(program, environment={**program.environment, **_TELLING})
    start_s = first_output_s(telling, Path(f"{stem}-parts"), lines.append)
    linked_s = next((line.time_s for line in lines if _LINKED.match(line.text)), None)
    own_s = _import_times(lines)
    # Imports of several processes in parallel can add up to more than the start. The linker's line
    # may have been read late from the pipe; Python measures its own times.
    imports_s = min(sum(own_s.values()), start_s)
    loader_s = None if linked_s is None else min(linked_s, start_s - imports_s)
    if not own_s:
        return StartParts(start_s, loader_s, None)
    before_each()
    told = _told(program, Path(f"{stem}-calls"))
    return StartParts(
        start_s,
        loader_s,
        PythonStart(
            imports_s,
            _packages(own_s, told),
            None if told is None else len(told["listed"]),
            None if told is None else len(told["compiled"]),
        ),
    )


def _import_times(lines: list[OutputLine]) -> dict[str, float]:
    """Return the seconds of each module itself, without the modules that it imports."""
    own_s: dict[str, float] = defaultdict(float)
    for line in lines:
        if match := _IMPORT.match(line.text):
            own_s[match[2]] += int(match[1]) / 1e6
    return own_s


def _packages(
    own_s: Mapping[str, float], told: Mapping[str, set[str]] | None
) -> list[ImportedPackage]:
    modules, times_s = Counter(map(_package, own_s)), defaultdict[str, float](float)
    for module, time_s in own_s.items():
        times_s[_package(module)] += time_s
    called = None if told is None else {_package(module) for module in told["called"]}
    return [
        ImportedPackage(name, modules[name], time_s, None if called is None else name in called)
        for name, time_s in sorted(times_s.items(), key=lambda each: -each[1])
    ]


def _package(module: str) -> str:
    return ".".join(module.split(".")[:_MODULE_PARTS])


def _told(program: Program, stem: Path) -> dict[str, set[str]] | None:
    """Return the records of `inside_python` from a run; None if Python does not load it."""
    with TemporaryDirectory() as place:
        folder = Path(place, "python")
        folder.mkdir(mode=0o755)
        source = Path(inside_python.__file__).read_text()
        (folder / "sitecustomize.py").write_text(source)
        log = Path(place, "log")
        log.touch()
        Path(place).chmod(0o755)
        search = program.environment.get("PYTHONPATH")
        environment = {
            **program.environment,
            "PYTHONPATH": f"{folder}:{search}" if search else str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            inside_python.START_LOG: str(log),
        }
        watched = replace(program, environment=environment).with_access_to(log).seeing(folder)
        try:
            first_output_s(watched, stem)
        except UserError:  # a recorded program may end badly; only the details are lost
            return None
        told: dict[str, set[str]] = {"called": set(), "compiled": set(), "listed": set()}
        for line in lines_of_untrusted(log, _MOST_LOG_BYTES, _MOST_LINES):
            word, _, name = line.decode(errors="replace").rstrip("\n").partition(" ")
            told.setdefault(word, set()).add(name)
    return told if told["listed"] or told["called"] else None
