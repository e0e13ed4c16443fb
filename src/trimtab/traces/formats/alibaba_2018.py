"""Alibaba's cluster trace of 2018: the table batch_task.

https://github.com/alibaba/clusterdata/blob/master/cluster-trace-v2018/schema.txt, "batch task":
9 columns without a header: task_name, instance_num, job_name, task_type, status, start_time (s),
end_time (s), plan_cpu (100 is a core), plan_mem (percent of a machine's memory).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import jobs_frame

_EXPECTED = "batch_task.csv of Alibaba's cluster trace of 2018: 9 columns without a header"
_NAMES = "task_name instance_num job_name task_type status start_time end_time plan_cpu plan_mem"
_TYPES = {
    "status": pa.string(),
    **dict.fromkeys(
        ["instance_num", "start_time", "end_time", "plan_cpu", "plan_mem"], pa.float64()
    ),
}


def read(path: Path, skipped: Counter[str], machine_memory_bytes: int) -> Iterator[pd.DataFrame]:
    """Yield the instances of the tasks that ended well.

    Each instance of a task is a job. The table has no submissions, so a job arrives at the task's
    start. It has no times of instances, so a job works as long as the task: an upper bound. Memory
    is relative to a machine's, `machine_memory_bytes`. All have priority 0. Tasks with a status
    other than Terminated are counted in `skipped`. Raises UserError with the file and the row.
    """
    for frame in read_csv(path, _TYPES, _EXPECTED, _NAMES.split()):
        done = frame["status"] == "Terminated"
        skipped["not terminated well"] += int((~done).sum())
        task = frame[done]
        yield jobs_frame(
            arrival_s=task["start_time"],
            work_s=task["end_time"] - task["start_time"],
            cpu_milli=task["plan_cpu"] * 10,
            memory_bytes=task["plan_mem"] / 100 * machine_memory_bytes,
            copies=task["instance_num"],
        )
