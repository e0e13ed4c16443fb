"""The counters of profiling for a trial's epochs, from one epoch's end to the next."""

import os

from trimtab.profiling.meters.hardware_counters import HARDWARE_EVENTS
from trimtab.profiling.meters.memory import ResidentMemory
from trimtab.profiling.meters.os_counters import OS_COUNTERS, OsCounters
from trimtab.tuning.trials.running import RunningProgram

_NAMES = (*OS_COUNTERS, *(event.name for event in HARDWARE_EVENTS), "enabled_ns", "running_ns")


class TrialCounters:
    """Sums over the processes of a trial: the program's own and their children."""

    def __init__(self, running: RunningProgram) -> None:
        self._running = running
        self._os = OsCounters(running.pid)
        self._memory = ResidentMemory()
        self._before: dict[str, float] = dict.fromkeys(_NAMES, 0.0)

    @property
    def cpu_s(self) -> float:
        """The CPU seconds from the start to the last epoch's end."""
        return self._before["cpu_s"]

    @property
    def peak_rss_bytes(self) -> int:
        """The peak of memory at epochs' ends."""
        return self._memory.peak_bytes

    def epoch_begins(self) -> None:
        """Let the epoch begin now, not at the end of the one before."""
        self._before = self._read()

    def epoch_ends(self) -> dict[str, float]:
        """Return the use since the last epoch's end, or the start."""
        before, self._before = self._before, self._read()
        used = {name: self._before[name] - before[name] for name in _NAMES}
        enabled, ran = used.pop("enabled_ns"), used.pop("running_ns")
        used["counters_running_share"] = ran / enabled if enabled > 0 else float("nan")
        return used

    def end(self) -> tuple[int, float, int]:
        """Reap the first process; all have ended.

        Return its exit code, the CPU seconds of all, and the peak of memory in bytes.
        """
        status = self._os.wait_for(self._running.pid)
        cpu_s = self._os.read([])["cpu_s"]
        self._memory.close(self._os.peak_process_bytes)
        return os.waitstatus_to_exitcode(status), cpu_s, self._memory.peak_bytes

    def _read(self) -> dict[str, float]:
        processes = self._running.processes()
        self._memory.watch(processes)
        return {**self._os.read(processes), **self._running.counters.read()}
