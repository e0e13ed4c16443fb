"""Published traces: what trimtab.traces.formats reads, as jobs of a batch system.

They have no users, limits or recorded starts, except openb. A job of more than eight GPUs has
several equal parts.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.batch.readers.gpu_models import gpu_models
from trimtab.batch.readers.head import Head
from trimtab.batch.readers.jobs import MOST_JOBS, FoundJobs, check_count, joined
from trimtab.batch.readers.sizes import Values, parts_of_gpus, per_part
from trimtab.traces.formats import (
    alibaba_2018,
    azure_functions_2021,
    azure_llm,
    google_2011,
    google_2019,
    philly_log,
    philly_table,
)
from trimtab.traces.formats.alibaba_gpu_2023 import PRIORITY
from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import usable

_CORE_MILLI, _GIB = 1000, 2**30
_PODS = "openb_pod_list_*.csv of Alibaba's GPU trace of 2023"
_TASKS = "pai_task_table.csv of Alibaba's GPU trace of 2020: 10 columns without a header"
_TASK_NAMES = (
    "job_name task_name inst_num status start_time end_time plan_cpu plan_mem plan_gpu gpu_type"
)
Reader = Callable[..., Iterator[pd.DataFrame]]


def _read(path: Path, head: Head, reader: Reader, remark: str, **options: Any) -> FoundJobs:
    """Return what a reader of trimtab.traces.formats finds; raises UserError as it does."""
    skipped = Counter[str]()
    jobs = usable(reader(path, skipped=skipped, **options), skipped)
    return FoundJobs(joined(path, _in_parts(path, jobs)), skipped, [remark])


def _in_parts(path: Path, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield jobs_frame's jobs with their parts, and a row for each copy."""
    total = 0
    for jobs in frames:
        copies = np.maximum(jobs["copies"].to_numpy(np.int64), 0)
        total += int(copies.sum())
        check_count(path, total)
        jobs = jobs.iloc[np.repeat(np.arange(len(jobs)), copies)]
        yield _jobs(
            jobs["gpu_milli"].to_numpy(np.float64) / 1000,
            {str(name): column.to_numpy(np.float64) for name, column in jobs.items()},
        )


def _jobs(gpus: Values, values: dict[str, Values]) -> pd.DataFrame:
    parts = parts_of_gpus(gpus)
    return pd.DataFrame(
        {
            "submit_s": values["arrival_s"],
            "run_s": values["work_s"],
            "parts": parts,
            "cpu_milli": values["cpu_milli"] / parts,
            "gpu_milli": per_part(gpus, parts),
            "memory_bytes": values["memory_bytes"] / parts,
            "priority": values["priority"],
        }
    )


def _read_openb(path: Path, head: Head) -> FoundJobs:
    """Return the pods of openb that ran, with the model of GPU of those that accept one only.

    See trimtab.traces.formats.alibaba_gpu_2023.
    """
    skipped = Counter[str]()
    numbers = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]
    times = ["creation_time", "deletion_time", "scheduled_time"]
    texts = ["name", "gpu_spec", "qos", "pod_phase"]
    types = dict.fromkeys([*numbers, *times], pa.float64()) | dict.fromkeys(texts, pa.string())

    def frames() -> Iterator[pd.DataFrame]:
        for frame in read_csv(path, types, _PODS):
            for phase in ("Pending", "Failed"):
                skipped[phase.lower()] += int((frame["pod_phase"] == phase).sum())
            pod = frame[~frame["pod_phase"].isin(["Pending", "Failed"])]
            gpus = (pod["num_gpu"] * pod["gpu_milli"] / 1000).to_numpy()
            values = {
                "arrival_s": pod["creation_time"].to_numpy(),
                "work_s": (pod["deletion_time"] - pod["scheduled_time"]).to_numpy(),
                "cpu_milli": pod["cpu_milli"].to_numpy(),
                "memory_bytes": pod["memory_mib"].to_numpy() * 2**20,
                "priority": pod["qos"].map(PRIORITY).to_numpy(np.float64),
            }
            yield _jobs(gpus, values).assign(
                name=pod["name"].to_numpy(),
                gpu_type=gpu_models(pod["gpu_spec"]).to_numpy(),
                queue=pod["qos"].to_numpy(),
                start_s=pod["scheduled_time"].to_numpy(),
            )

    return FoundJobs(joined(path, frames()), skipped)


def _read_pai(path: Path, head: Head) -> FoundJobs:
    """Return the instances of PAI's tasks that ended well, each a job.

    See trimtab.traces.formats.alibaba_gpu_2020. The table of tasks has no submissions.
    """
    skipped = Counter[str]()
    texts = ["job_name", "status", "gpu_type"]
    numbers = ["inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu"]
    types = dict.fromkeys(texts, pa.string()) | dict.fromkeys(numbers, pa.float64())

    def frames() -> Iterator[pd.DataFrame]:
        total = 0
        for frame in read_csv(path, types, _TASKS, _TASK_NAMES.split()):
            done = (frame["status"] == "Terminated") & (frame["inst_num"] >= 1)
            skipped["not terminated well"] += int((~done).sum())
            task = frame[done]
            copies = np.minimum(task["inst_num"].to_numpy(), MOST_JOBS + 1).astype(np.int64)
            total += int(copies.sum())
            check_count(path, total)
            task = task.iloc[np.repeat(np.arange(len(task)), copies)]
            gpus = task["plan_gpu"].fillna(0).to_numpy() / 100
            values = {
                "arrival_s": task["start_time"].to_numpy(),
                "work_s": (task["end_time"] - task["start_time"]).to_numpy(),
                "cpu_milli": task["plan_cpu"].to_numpy() * 10,
                "memory_bytes": task["plan_mem"].fillna(0).to_numpy() * _GIB,
                "priority": np.zeros(len(task)),
            }
            model = gpu_models(task["gpu_type"].where(~task["gpu_type"].isin(["MISC", "CPU"])))
            yield _jobs(gpus, values).assign(
                name=task["job_name"].to_numpy(), gpu_type=model.to_numpy()
            )

    remark = "the table of tasks has no submissions: jobs count as submitted when they started"
    return FoundJobs(joined(path, frames()), skipped, [remark])


def _google(reader: Reader) -> Reader:
    """Return a reader of one file, with the size of the largest machine."""
    return lambda path, skipped: reader([path], skipped, 64 * _CORE_MILLI, 256 * _GIB)


def _philly(reader: Reader) -> Reader:
    """Return a reader with demands for each GPU."""
    return lambda path, skipped: reader(path, skipped, _CORE_MILLI, 0)


_A_CORE = "no demand but GPUs: a core for each, and no memory"
_MACHINE = "demands are relative to the largest machine: taken as 64 cores and 256 GiB"
READERS: dict[str, Callable[[Path, Head], FoundJobs]] = {
    "alibaba_2018": partial(
        _read,
        reader=alibaba_2018.read,
        remark="no submissions: jobs count as submitted when they started; memory is relative to a"
        " machine's: taken as 256 GiB",
        machine_memory_bytes=256 * _GIB,
    ),
    "alibaba_gpu_2020": _read_pai,
    "alibaba_gpu_2023": _read_openb,
    "azure_functions_2021": partial(
        _read,
        reader=azure_functions_2021.read,
        remark="no demands: a core and 1 GiB for each invocation",
        cpu_milli=_CORE_MILLI,
        memory_bytes=_GIB,
    ),
    "azure_llm": partial(
        _read,
        reader=azure_llm.read,
        remark="no run times: 0.2 ms for a token of the context, 20 ms for a generated one, on a"
        " GPU, a core and 16 GiB",
        context_token_s=0.0002,
        generated_token_s=0.02,
        cpu_milli=_CORE_MILLI,
        gpu_milli=1000,
        memory_bytes=16 * _GIB,
    ),
    "google_2011": partial(_read, reader=_google(google_2011.read), remark=_MACHINE),
    "google_2019": partial(_read, reader=_google(google_2019.read), remark=_MACHINE),
    "philly_log": partial(_read, reader=_philly(philly_log.read), remark=_A_CORE),
    "philly_table": partial(_read, reader=_philly(philly_table.read), remark=_A_CORE),
}
