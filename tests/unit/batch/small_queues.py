"""Small queues: jobs (BATCH_JOBS) and nodes for tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from trimtab.clusters.cluster import Cluster, Level, NodeType


def jobs_of(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Jobs of one core, an hour's estimate as run, and nothing else but what `rows` say."""
    usual = {
        "submit_s": 0.0, "run_s": 10.0, "estimate_s": np.nan, "parts": 1, "cpu_milli": 1000,
        "gpu_milli": 0, "memory_bytes": 0, "distinct": False, "gpu_type": "", "user": "",
        "group": "", "queue": "", "priority": 0, "recorded_start_s": np.nan,
        "deadline_s": np.nan, "image": "", "serial_share": 0.0,
        "run_gpu_type": "", "counted": True,
        "model": "", "checkpoint_interval_s": np.nan, "checkpoint_cost_s": np.nan,
        "restart_cost_s": np.nan,
    }  # fmt: skip
    frame = pd.DataFrame([{**usual, **row} for row in rows])
    for name in ("least_parts", "most_parts"):
        frame[name] = frame.get(name, frame["parts"]).fillna(frame["parts"]).astype(np.int64)
    frame.insert(0, "job", np.arange(len(frame)))
    frame.insert(1, "name", [f"j{job}" for job in frame["job"]])
    return frame


def node_type(
    name: str, cores: int, *, gpus: int = 0, speed: float = 1.0, watts: float = 0.0
) -> NodeType:
    """A type of node with much memory."""
    return NodeType(
        name, cores * 1000, 1 << 40, 0.0, (Level(speed, watts, watts),), gpu_milli=gpus * 1000
    )


def nodes(count: int, cores: int, *, gpus: int = 0) -> Cluster:
    """Equal nodes."""
    return Cluster((node_type("node", cores, gpus=gpus),), (count,))
