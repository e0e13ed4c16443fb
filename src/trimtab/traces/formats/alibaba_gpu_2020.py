"""Alibaba's GPU trace of 2020 (PAI): the tables pai_task_table and pai_job_table.

https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2020: without a header.
pai_task_table has 10 columns: job_name, task_name, inst_num, status, start_time (s), end_time (s),
plan_cpu (100 is a core), plan_mem (GiB), plan_gpu (100 is a GPU), gpu_type. pai_job_table has 6:
job_name, inst_id, user, status, start_time (when it was submitted, s), end_time (s).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from trimtab.traces.formats.csv_table import read_csv, whole_csv
from trimtab.traces.jobs import jobs_frame

_TASKS = "pai_task_table.csv of Alibaba's GPU trace of 2020: 10 columns without a header"
_JOBS = "pai_job_table.csv of Alibaba's GPU trace of 2020: 6 columns without a header"
_TASK_NAMES = (
    "job_name task_name inst_num status start_time end_time plan_cpu plan_mem plan_gpu gpu_type"
)
_JOB_NAMES = "job_name inst_id user status start_time end_time"
_NUMBERS = ["inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu"]
_TASK_TYPES = {
    **dict.fromkeys(["job_name", "status"], pa.string()),
    **dict.fromkeys(_NUMBERS, pa.float64()),
}
_JOB_TYPES = {"job_name": pa.string(), "start_time": pa.float64()}


def read(task_path: Path, job_path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    """Yield the instances of the tasks that ended well.

    Each instance of a task is a job; it arrives at its PAI job's submission, and works as long as
    the task. An empty plan_gpu means no GPU. All have priority 0. Tasks with a status other than
    Terminated, and of jobs missing in `job_path`, are counted in `skipped`. The table of jobs (a
    million) is held in memory. Raises UserError with the file and the row.
    """
    jobs = whole_csv(job_path, _JOB_TYPES, _JOBS, _JOB_NAMES.split())
    submitted_s = jobs.drop_duplicates("job_name").set_index("job_name")["start_time"]
    for frame in read_csv(task_path, _TASK_TYPES, _TASKS, _TASK_NAMES.split()):
        done = frame["status"] == "Terminated"
        skipped["not terminated well"] += int((~done).sum())
        known = frame["job_name"].isin(submitted_s.index)
        skipped["of an unknown job"] += int((done & ~known).sum())
        task = frame[done & known]
        yield jobs_frame(
            arrival_s=task["job_name"].map(submitted_s),
            work_s=task["end_time"] - task["start_time"],
            cpu_milli=task["plan_cpu"] * 10,
            gpu_milli=task["plan_gpu"].fillna(0) * 10,
            memory_bytes=task["plan_mem"] * 2**30,
            copies=task["inst_num"],
        )
