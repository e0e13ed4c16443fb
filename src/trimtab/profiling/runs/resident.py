"""How much of an environment's libraries a run holds in memory."""

import subprocess
import time
from collections import defaultdict
from pathlib import Path

import psutil

from trimtab.profiling.runs.program import Program

_INTERVAL_S = 0.1


def resident_library_bytes(program: Program, libraries: set[Path]) -> int:
    """Run `program` and return the most of `libraries` that was resident in its processes.

    Resident are the pages of a library's file that a process has mapped and touched (Rss in
    /proc/PID/smaps); a page that several processes share counts in each. The run is read ten
    times a second, and is not one to take times from.
    """
    wanted = {str(path.resolve()) for path in libraries}
    highest = 0
    with subprocess.Popen(
        program.command,
        cwd=program.workdir,
        env=dict(program.environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + program.timeout_s
        while process.poll() is None and time.monotonic() < deadline:
            highest = max(highest, _now(process.pid, wanted))
            time.sleep(_INTERVAL_S)
        process.kill()
    return highest


def _now(pid: int, wanted: set[str]) -> int:
    by_path: dict[str, int] = defaultdict(int)
    try:
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            for mapping in process.memory_maps(grouped=True):
                by_path[mapping.path] += mapping.rss
    except (psutil.Error, OSError):
        return 0  # it ended while it was read
    return sum(rss for path, rss in by_path.items() if path in wanted)
