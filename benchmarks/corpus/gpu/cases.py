"""One run of a program, and what two runs, in the original and in the slim environment, tell."""

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
_ERROR_CHARACTERS = 3000
# What programs compile is kept there; where these are empty it is compiled again.
_COMPILED = ("CUDA_CACHE_PATH", "CUPY_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


class OutOfTimeError(Exception):
    """There is no time left for a run, or it was stopped as there was none."""


class Deadline:
    """The time by which all runs have to end."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left_s(self) -> float:
        """Return the seconds that are left."""
        return self._end - time.monotonic()

    def check(self, needed_s: float) -> None:
        """Raise OutOfTimeError where less than `needed_s` are left."""
        if self.left_s() < needed_s:
            raise OutOfTimeError


def run(
    command: list[str], environment: dict[str, str], deadline: Deadline, stop: int = signal.SIGKILL
) -> dict[str, Any]:
    """Run a command; return how it ended, what it wrote, its time and peak memory.

    It is sent `stop` at the deadline, and killed 10 s later. Raises OutOfTimeError then.
    """
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=error,
            start_new_session=True,
        )  # fmt: skip
        late = threading.Event()

        def end(how: int) -> None:
            late.set()
            os.killpg(process.pid, how)

        left_s = max(0.0, deadline.left_s())
        timers = [
            threading.Timer(left_s, end, [stop]),
            threading.Timer(left_s + 10, end, [signal.SIGKILL]),
        ]
        for timer in timers:
            timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        for timer in timers:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if late.is_set():
            raise OutOfTimeError
        texts = []
        for file in (out, error):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return {
        "exit_code": process.returncode,
        "lines": texts[0].splitlines(),
        "error": texts[1][-_ERROR_CHARACTERS:] if process.returncode else "",
        "wall_s": round(time.perf_counter() - begun, 2),
        "peak_rss_bytes": usage.ru_maxrss << 10,
    }


def empty_caches(folder: Path) -> dict[str, str]:
    """Return variables by which a program compiles again what it compiles while it runs."""
    return {name: str(folder / name.lower()) for name in _COMPILED}


def compared(
    original: dict[str, Any],
    slim: dict[str, Any],
    record: Path | None = None,
    tolerance: float = 0.0,
) -> dict[str, Any]:
    """Return how many lines are equal, the first that are not, and what came back."""
    pairs = list(zip(original["lines"], slim["lines"], strict=False))
    different = [pair for pair in pairs if not _equal(*pair, tolerance)]
    misses: dict[str, int] = {}
    if record is not None and record.exists():
        for line in map(json.loads, record.read_text().splitlines()):
            if "library" in line:
                library = Path(line["library"]).name
                misses[library] = misses.get(library, 0) + 1
    return {
        "equal": len(pairs) - len(different),
        "of": max(len(original["lines"]), len(slim["lines"])),
        "exit_codes": [original["exit_code"], slim["exit_code"]],
        "wall_s": [original["wall_s"], slim["wall_s"]],
        "peak_rss_bytes": [original["peak_rss_bytes"], slim["peak_rss_bytes"]],
        "misses": misses,
        "different": different[:5],
        "error": slim["error"] or original["error"],
    }


def _equal(before: str, after: str, tolerance: float) -> bool:
    if before == after or not tolerance:
        return before == after
    if _NUMBER.sub("", before) != _NUMBER.sub("", after):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=True)
    return all(abs(float(b) - float(a)) <= tolerance * abs(float(b)) for b, a in pairs)
