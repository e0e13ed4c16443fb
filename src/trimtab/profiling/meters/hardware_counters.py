"""Hardware counters of a run through perf_event_open(2), corrected for multiplexing.

Each event is opened, disabled, on the calling thread with `inherit` and `enable_on_exec`. The
process that this thread starts next inherits it and counts from its exec on; every thread and
descendant adds to the same count. The kernel refuses group reads with `inherit`, so each event has
its own descriptor. Only user space is counted, so figures are comparable between machines with any
kernel.perf_event_paranoid up to 2.

With more events than counters the kernel multiplexes; each interval's count is then scaled by time
enabled / time running.
"""

import errno
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.profiling.meters.system_calls import perf_event_open


@dataclass(frozen=True)
class CounterEvent:
    """A countable event: `kind` and `number` are perf_event_attr's type and config."""

    name: str
    kind: int
    number: int


# PERF_TYPE_HARDWARE is 0; the numbers are enum perf_hw_id of <linux/perf_event.h>.
HARDWARE_EVENTS = (
    CounterEvent("cycles", 0, 0),
    CounterEvent("instructions", 0, 1),
    CounterEvent("cache_references", 0, 2),
    CounterEvent("cache_misses", 0, 3),
    CounterEvent("branches", 0, 4),
    CounterEvent("branch_misses", 0, 5),
)

_TOTAL_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV, _ENABLE_ON_EXEC = (
    1 << bit for bit in (0, 1, 5, 6, 12)
)
_ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")  # perf_event_attr, in its first published version


@dataclass(frozen=True)
class CounterReading:
    """A counter's value with the nanoseconds it was enabled and really counted."""

    count: int
    enabled_ns: int
    running_ns: int


def scaled(before: CounterReading, after: CounterReading) -> float | None:
    """Return the events between two readings, scaled by time enabled / time running.

    None if the event had no counter in between.
    """
    enabled, running = after.enabled_ns - before.enabled_ns, after.running_ns - before.running_ns
    if running <= 0:
        return 0.0 if enabled <= 0 else None
    return (after.count - before.count) * enabled / running


class HardwareCounters:
    """Counts of `events` over the process that this thread starts next, and its descendants.

    `missing` says in words which events this machine does not count, and why, or is None.
    """

    def __init__(self, events: Sequence[CounterEvent] = HARDWARE_EVENTS) -> None:
        self._descriptors: dict[str, int] = {}
        self._before = {event.name: CounterReading(0, 0, 0) for event in events}
        self._counts: dict[str, float] = {}
        refused: dict[str, list[str]] = {}
        for event in events:
            try:
                self._descriptors[event.name] = perf_event_open(_attributes(event))
                self._counts[event.name] = 0.0
            except OSError as error:
                self._counts[event.name] = float("nan")
                refused.setdefault(_reason(error), []).append(event.name)
        self.missing = "; ".join(f"{', '.join(names)}: {why}" for why, names in refused.items())

    def read(self) -> dict[str, float]:
        """Return each event's scaled count so far (NaN if not counted).

        `enabled_ns` and `running_ns` sum the times over all events.
        """
        enabled = running = 0
        for name, descriptor in self._descriptors.items():
            now = CounterReading(*struct.unpack("=QQQ", os.read(descriptor, 24)))
            enabled, running = enabled + now.enabled_ns, running + now.running_ns
            events = scaled(self._before[name], now)
            if events is not None:  # otherwise the next interval includes this one
                self._counts[name] += events
                self._before[name] = now
        return {**self._counts, "enabled_ns": enabled, "running_ns": running}

    def close(self) -> None:
        """Close the counters."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()

    def __enter__(self) -> "HardwareCounters":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _attributes(event: CounterEvent) -> bytes:
    flags = _DISABLED | _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV | _ENABLE_ON_EXEC
    return _ATTRIBUTES.pack(
        event.kind, _ATTRIBUTES.size, event.number, 0, 0, _TOTAL_TIMES, flags, 0, 0, 0
    )


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "this machine has no such hardware counter (few virtual machines have any)"
    if error.errno in (errno.EACCES, errno.EPERM):
        path = Path("/proc/sys/kernel/perf_event_paranoid")
        level = path.read_text().strip() if path.exists() else "unknown"
        return f"not permitted: kernel.perf_event_paranoid is {level}, at most 2 is needed"
    return str(error.strerror)
