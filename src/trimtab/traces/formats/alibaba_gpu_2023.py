"""Alibaba's GPU trace of 2023 (openb): pods.

https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023: comma-separated values
with a header. Pods: name, cpu_milli, memory_mib, num_gpu, gpu_milli (of each GPU), gpu_spec, qos,
pod_phase, creation_time, deletion_time, scheduled_time (s).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import jobs_frame

_PODS = "openb_pod_list_*.csv of Alibaba's GPU trace of 2023"
_POD_NUMBERS = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]
_POD_TIMES = ["creation_time", "deletion_time", "scheduled_time"]
_POD_TYPES = {
    **dict.fromkeys(["qos", "pod_phase"], pa.string()),
    **dict.fromkeys([*_POD_NUMBERS, *_POD_TIMES], pa.float64()),
}
PRIORITY = {"BE": 0, "Burstable": 1, "LS": 2, "Guaranteed": 3}


def read(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    """Yield the pods of a list.

    A pod works from scheduled_time to deletion_time. Its priority is its quality of service: best
    effort 0, burstable 1, latency-sensitive 2, guaranteed 3. Pods in phase Pending (never
    scheduled) and Failed, and of another quality of service, are counted in `skipped`. A trace does
    not hold the requested GPU models (gpu_spec). Raises UserError with the file, missing columns,
    or the row.
    """
    for frame in read_csv(path, _POD_TYPES, _PODS):
        for phase in ("Pending", "Failed"):
            skipped[phase.lower()] += int((frame["pod_phase"] == phase).sum())
        pod = frame[~frame["pod_phase"].isin(["Pending", "Failed"])]
        yield jobs_frame(
            arrival_s=pod["creation_time"],
            work_s=pod["deletion_time"] - pod["scheduled_time"],
            cpu_milli=pod["cpu_milli"],
            gpu_milli=pod["num_gpu"] * pod["gpu_milli"],
            memory_bytes=pod["memory_mib"] * 2**20,
            priority=pod["qos"].map(PRIORITY).astype(np.float64),
        )
