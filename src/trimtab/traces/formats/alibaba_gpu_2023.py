"""Alibaba's GPU trace of 2023 (openb): pods, and the nodes that they ran on.

https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023: comma-separated values
with a header. Pods: name, cpu_milli, memory_mib, num_gpu, gpu_milli (of each GPU), gpu_spec, qos,
pod_phase, creation_time, deletion_time, scheduled_time (s). Nodes: sn, cpu_milli, memory_mib, gpu,
model.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.errors import UserError
from trimtab.traces.arrival_order import sorted_by_arrival
from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import as_trace, jobs_frame, usable

_PODS = "openb_pod_list_*.csv of Alibaba's GPU trace of 2023"
_NODES = "openb_node_list_*.csv of Alibaba's GPU trace of 2023"
_POD_NUMBERS = ["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"]
_POD_TIMES = ["creation_time", "deletion_time", "scheduled_time"]
_POD_TYPES = {
    **dict.fromkeys(["qos", "pod_phase"], pa.string()),
    **dict.fromkeys([*_POD_NUMBERS, *_POD_TIMES], pa.float64()),
}
_NODE_NUMBERS = ["cpu_milli", "memory_mib", "gpu"]
_NODE_TYPES = dict.fromkeys(_NODE_NUMBERS, pa.int64()) | {"model": pa.string()}
PRIORITY = {"BE": 0, "Burstable": 1, "LS": 2, "Guaranteed": 3}


def read_alibaba_gpu_2023(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    """Yield the pods of a list as chunks of tables.TRACE.

    A pod works from scheduled_time to deletion_time. Its priority is its quality of service:
    best effort 0, burstable 1, latency-sensitive 2, guaranteed 3. Pods in phase Pending (never
    scheduled) and Failed, and of another quality of service, are counted in `skipped`. Which
    models of GPU a pod asks for (gpu_spec) is not part of a trace. Raises UserError that names
    the file, missing columns, or the row.
    """

    def pods() -> Iterator[pd.DataFrame]:
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

    yield from as_trace(sorted_by_arrival(usable(pods(), skipped)))


def read_openb_nodes(path: Path) -> pd.DataFrame:
    """Return how many nodes of each kind a list has.

    One row a kind: cpu_milli, memory_bytes, gpus (number of GPUs), gpu_model (empty without),
    count; the most frequent first. Raises UserError that names the file, missing columns, or the
    row.
    """
    nodes = pd.concat(read_csv(path, _NODE_TYPES, _NODES), ignore_index=True)
    if nodes[_NODE_NUMBERS].isna().any(axis=None):
        row = int(np.flatnonzero(nodes[_NODE_NUMBERS].isna().any(axis=1))[0])
        raise UserError(f"{path}: node {row} has an empty field; expected {_NODES}")
    kinds = pd.DataFrame(
        {
            "cpu_milli": nodes["cpu_milli"],
            "memory_bytes": nodes["memory_mib"] * 2**20,
            "gpus": nodes["gpu"],
            "gpu_model": nodes["model"].fillna(""),
        }
    )
    return kinds.value_counts().reset_index()
