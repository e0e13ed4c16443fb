"""Jobs from the events of Google's cluster traces of 2011 and 2019."""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.errors import UserError
from trimtab.traces.jobs import jobs_frame

_COLUMNS = ["event", "collection", "index", "time_us", "priority", "cpus", "memory"]


class TaskEvent(IntEnum):
    """The relevant kinds of events of a task."""

    OTHER = 0
    SUBMIT = 1
    SCHEDULE = 2
    EVICT = 3
    FINISH = 4
    END = 5  # failed, killed or lost


def whole_events(
    frames: Iterable[tuple[Path, pd.DataFrame]],
    kinds: NDArray[np.int64],
    skipped: Counter[str],
) -> Iterator[pd.DataFrame]:
    """Yield the events with a request, and their TaskEvent, which `kinds` maps from `type`.

    `frames` come with the path of their file and have `time_us` and `type`; a type past the end of
    `kinds` counts as its last. Raises UserError where time decreases, also between files.
    """
    last_us = 0
    for path, frame in frames:
        whole = frame.dropna()
        skipped["event without a request"] += len(frame) - len(whole)
        times_us = np.concatenate([[last_us], whole["time_us"].to_numpy(np.int64)])
        back = np.flatnonzero(np.diff(times_us) < 0)
        if back.size:
            before, after = times_us[back[0]], times_us[back[0] + 1]
            raise UserError(
                f"{path}: time goes back from {before} to {after} us; expected events sorted by "
                "time, also from file to file in the order of their names"
            )
        last_us = int(times_us[-1])
        number = np.clip(whole["type"].to_numpy(np.int64), 0, len(kinds) - 1)
        yield whole.assign(event=kinds[number])


def finished_tasks(
    frames: Iterable[pd.DataFrame],
    machine_cpu_milli: int,
    machine_memory_bytes: int,
    skipped: Counter[str],
) -> Iterator[pd.DataFrame]:
    """Yield the tasks that finished, as trimtab.traces.jobs.jobs_frame has them.

    `frames` have `event`, `collection`, `index`, `time_us`, `priority`, `cpus` and `memory`, by
    rising time; cpus and memory are relative to the largest machine, whose size is given. A task
    arrives with its first SUBMIT and works from its last SCHEDULE to its FINISH, with the demand of
    that SCHEDULE. Evictions are ignored: the simulated policy makes its own. Failed, killed and
    lost tasks count in `skipped`; a resubmitted one is a new task. Memory is bounded by the number
    of concurrently pending or running tasks.
    """
    submitted: dict[tuple[int, int], int] = {}
    running: dict[tuple[int, int], tuple[int, int, float, float]] = {}
    for frame in frames:
        frame = frame[frame["event"] != TaskEvent.OTHER]
        columns = [frame[name].tolist() for name in _COLUMNS]
        rows: list[tuple[float, float, int, float, float]] = []
        for event, collection, index, time_us, priority, cpus, memory in zip(*columns, strict=True):
            task = (collection, index)
            if event == TaskEvent.SUBMIT:
                # Time 0 is any time before the trace began.
                if time_us > 0:
                    submitted.setdefault(task, time_us)
            elif event == TaskEvent.SCHEDULE:
                running[task] = (time_us, priority, cpus, memory)
            elif event == TaskEvent.EVICT:
                running.pop(task, None)
            else:
                arrival_us, start = submitted.pop(task, None), running.pop(task, None)
                if event == TaskEvent.END:
                    skipped["failed, killed or lost"] += 1
                elif arrival_us is None or start is None:
                    skipped["began before the trace, or incomplete"] += 1
                else:
                    rows.append((arrival_us, time_us - start[0], *start[1:]))
        arrival, work, priority, cpus, memory = np.array(rows, np.float64).reshape(-1, 5).T
        yield jobs_frame(
            arrival_s=arrival / 1e6,
            work_s=work / 1e6,
            cpu_milli=cpus * machine_cpu_milli,
            memory_bytes=memory * machine_memory_bytes,
            priority=priority,
        )
    skipped["never finished"] += len(submitted)
