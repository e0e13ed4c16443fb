"""Measure how much of an environment's libraries a run holds in memory."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from trimtab.processes.launch import followed
from trimtab.processes.program import Program

_INTERVAL_S = 0.1


def resident_library_bytes(program: Program, libraries: set[Path]) -> int:
    """Run `program` and return the most bytes of `libraries` that were resident in its processes.

    Resident are the pages of a library's file that a process has mapped and touched (Rss in
    /proc/PID/smaps); a shared page counts in each process. The run is sampled ten times a second;
    its times are not representative.
    """
    wanted = {str(path.resolve()) for path in libraries}
    highest = 0
    with TemporaryDirectory() as folder:
        for pid in followed(program, Path(folder, "run.stdout"), Path(folder, "run.stderr"),
                            _INTERVAL_S):  # fmt: skip
            highest = max(highest, _now(pid, wanted, program))
    return highest


def _now(pid: int, wanted: set[str], program: Program) -> int:
    by_path: dict[str, int] = defaultdict(int)
    try:
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            for mapping in process.memory_maps(grouped=True):
                by_path[mapping.path] += mapping.rss
    except (psutil.Error, OSError):
        return 0  # it ended during the read
    return sum(rss for path, rss in by_path.items() if _place(path, program) in wanted)


def _place(path: str, program: Program) -> str:
    return str(program.outside(path)) if path.startswith("/") else path
