"""The table that simulators derive from Microsoft's Philly trace (`philly_log`).

timestamp, duration (s), num_gpus, gpu_time, cluster: comma-separated with a header.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import jobs_frame

_TABLE = "a Philly table: timestamp,duration,num_gpus,gpu_time,cluster"
_TYPES = {"timestamp": pa.timestamp("s"), "duration": pa.float64(), "num_gpus": pa.float64()}


def read(
    path: Path, skipped: Counter[str], cpu_milli_per_gpu: int, memory_bytes_per_gpu: int
) -> Iterator[pd.DataFrame]:
    """Yield the jobs of the derived table, of priority 0.

    The trace has no demand but GPUs: `cpu_milli_per_gpu` and `memory_bytes_per_gpu` go with each.
    Raises UserError that names the file, missing columns, or the row.
    """
    for frame in read_csv(path, _TYPES, _TABLE):
        arrival = frame["timestamp"].to_numpy("datetime64[s]")
        yield jobs_on_gpus(
            np.where(np.isnat(arrival), np.nan, arrival.astype(np.float64)),
            frame["duration"],
            frame["num_gpus"],
            cpu_milli_per_gpu,
            memory_bytes_per_gpu,
        )


def jobs_on_gpus(
    arrival_s: Any, work_s: Any, gpus: Any, cpu_milli_per_gpu: int, memory_bytes_per_gpu: int
) -> pd.DataFrame:
    """Return jobs whose CPUs and memory go with their GPUs."""
    return jobs_frame(
        arrival_s=arrival_s,
        work_s=work_s,
        cpu_milli=gpus * cpu_milli_per_gpu,
        gpu_milli=gpus * 1000,
        memory_bytes=gpus * memory_bytes_per_gpu,
    )
