"""The CPU time of Spark's processes."""

from collections.abc import Callable, Sequence

import psutil

Processes = Callable[[], Sequence[psutil.Process]]


class CpuClock:
    """The CPU time that a changing set of processes uses from now on.

    A process that has ended takes its time with it (Spark's Python daemon ignores its children's
    end, so that Linux does not add them up): the time of an evicted job, whose Python workers
    are killed, is a lower bound.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._before = self._cpu_s()

    def elapsed_s(self) -> float:
        """Return the seconds of CPU since the beginning."""
        now = self._cpu_s()
        return sum(cpu_s - self._before.get(process, 0.0) for process, cpu_s in now.items())

    def _cpu_s(self) -> dict[psutil.Process, float]:
        used_s = {}
        for process in self._processes():
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            used_s[process] = times.user + times.system
        return used_s
