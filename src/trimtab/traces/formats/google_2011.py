"""Google's cluster trace of 2011 (clusterdata-2011-2): the table task_events.

https://github.com/google/cluster-data/blob/master/ClusterData2011_2.md, "format + schema": files
of 13 columns without a header. Used here, numbered as there: 1 timestamp (us), 3 job ID, 4 task
index, 6 event type (0 submit, 1 schedule, 2 evict, 3 fail, 4 finish, 5 kill, 6 lost, 7 and 8
update), 9 priority (0 to 11), 10 CPU request, 11 memory request, both relative to the largest
machine. The table job_events has no demands, and nothing about a task that task_events lacks.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.formats.task_events import TaskEvent, finished_tasks, whole_events

_EXPECTED = "task_events of Google's cluster trace of 2011: 13 columns without a header"
_NAMES = (
    "time_us missing collection index machine type user scheduling_class priority cpus memory disk "
    "different_machines"
)
_TYPES = {
    **dict.fromkeys(["time_us", "collection", "index", "type", "priority"], pa.int64()),
    **dict.fromkeys(["cpus", "memory"], pa.float64()),
}
_EVENTS = np.full(9, TaskEvent.OTHER)
_EVENTS[:7] = (
    TaskEvent.SUBMIT,
    TaskEvent.SCHEDULE,
    TaskEvent.EVICT,
    TaskEvent.END,
    TaskEvent.FINISH,
    TaskEvent.END,
    TaskEvent.END,
)


def read(
    paths: Sequence[Path],
    skipped: Counter[str],
    machine_cpu_milli: int,
    machine_memory_bytes: int,
) -> Iterator[pd.DataFrame]:
    """Yield the finished tasks of task_events files.

    `paths` are all or some of `part-?????-of-00500.csv.gz`; they are read in the order of their
    names, and so of time. Demands are relative to the largest machine. The trace hides its size, so
    `machine_cpu_milli` and `machine_memory_bytes` set it. Skipped tasks are counted by reason; see
    finished_tasks. Raises UserError with the file and the row.
    """
    frames = (
        (path, frame)
        for path in sorted(paths)
        for frame in read_csv(path, _TYPES, _EXPECTED, _NAMES.split())
    )
    events = whole_events(frames, _EVENTS, skipped)
    return finished_tasks(events, machine_cpu_milli, machine_memory_bytes, skipped)
