"""Programs measured side by side: each by a process of its own, on CPUs of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from trimtab.processes.run_processes import adopting_orphans
from trimtab.processes.stat import children_of

_POLL_S = 0.1


def run_side_by_side(
    names: Sequence[str],
    command: Callable[[str, int], Sequence[str | Path]],
    logs: Path,
    jobs: int,
    until_s: float,
) -> None:
    """Run `command(name, slot)` for each of `names`, `jobs` at a time, and say how each ended.

    The CPUs of this process are dealt out evenly among the slots, from 0. Nothing is started that
    would not end by `until_s` of the monotonic clock if it took as long as the shortest so far that
    ended with 0; what runs then is ended with all its processes. What is written goes to `logs`, a
    file a name.
    """
    logs.mkdir(parents=True, exist_ok=True)
    cpus = sorted(os.sched_getaffinity(0))
    each = max(1, len(cpus) // jobs)
    shares = [cpus[each * slot % len(cpus) :][:each] for slot in range(jobs)]
    waiting, shortest_s = list(names), 0.0
    running: dict[int, tuple[str, subprocess.Popen[bytes], float]] = {}
    with adopting_orphans():  # so that those of a job that is ended are ended too
        while waiting or running:
            now_s = time.monotonic()
            if waiting and now_s + shortest_s >= until_s:
                print(f"no time for {', '.join(waiting)}", flush=True)
                waiting.clear()
            for slot in range(min(jobs, len(waiting) + len(running))):
                if slot not in running and waiting:
                    name = waiting.pop(0)
                    job = _started(command(name, slot), shares[slot], logs / f"{name}.log")
                    running[slot] = (name, job, now_s)
            if now_s >= until_s:
                _end_children()
            for slot, (name, job, began_s) in list(running.items()):
                if job.poll() is not None:
                    took_s = time.monotonic() - began_s
                    if job.returncode == 0:
                        shortest_s = min(shortest_s or took_s, took_s)
                    print(f"{name}, {took_s:.0f} s: {_end_of(logs / f'{name}.log')}", flush=True)
                    del running[slot]
            time.sleep(_POLL_S)


def _started(
    command: Sequence[str | Path], cpus: Sequence[int], log: Path
) -> "subprocess.Popen[bytes]":
    """Start `command` on `cpus`, which it has from its first instruction on."""
    before = os.sched_getaffinity(0)
    with log.open("wb") as file:
        try:
            os.sched_setaffinity(0, cpus)
            return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        finally:
            os.sched_setaffinity(0, before)


def _end_children() -> None:
    """Kill the children of this process, and those that it is left with then."""
    while children := children_of(os.getpid()):
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL_S)


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "ended without a word")
