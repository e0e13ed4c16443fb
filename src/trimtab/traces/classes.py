"""Job classes of a public trace: demands in few steps, and names that tell them.

A simulator keeps tables by class, and a person reads them: both need few classes. So every demand
is rounded up to three significant binary digits (1, 1.25, 1.5, 1.75, 2, 2.5, ... units: never
more than a quarter too much, and exact for machines of 4, 12, 48, 64 or 96 cores), in units of a
quarter core, 256 MiB, and an eighth of a GPU up to one GPU, whole GPUs beyond. A class's name
tells its cores, GPUs, GiB and priority, without those that are 0: `4c_16g`, `8c_1gpu_32g_p2`.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

CPU_UNIT_MILLI = 250
GPU_UNIT_MILLI = 125
MEMORY_UNIT_BYTES = 256 * 2**20
_DEMANDS = ["cpu_milli", "gpu_milli", "memory_bytes", "priority"]


def rounded_up(demand: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return `demand` rounded up to three significant binary digits of `unit`; 0 stays 0."""
    units = -(-demand // unit)
    # frexp is exact for whole numbers below 2^53.
    digits = np.frexp(units.astype(np.float64))[1].astype(np.int64)
    step = np.int64(1) << np.maximum(digits - 3, 0)
    rounded: NDArray[np.int64] = -(-units // step) * step * unit
    return rounded


def put_into_classes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with its cpu_milli, gpu_milli and memory_bytes rounded up, and job_class.

    It has these columns and priority, whole numbers.
    """
    gpu_milli = frame["gpu_milli"].to_numpy(np.int64)
    frame = frame.assign(
        cpu_milli=rounded_up(frame["cpu_milli"].to_numpy(np.int64), CPU_UNIT_MILLI),
        gpu_milli=np.where(
            gpu_milli <= 1000, rounded_up(gpu_milli, GPU_UNIT_MILLI), rounded_up(gpu_milli, 1000)
        ),
        memory_bytes=rounded_up(frame["memory_bytes"].to_numpy(np.int64), MEMORY_UNIT_BYTES),
    )
    # Both number equal demands in the order in which they first appear.
    group = frame.groupby(_DEMANDS, sort=False).ngroup().to_numpy()
    kinds = frame[_DEMANDS].drop_duplicates().to_numpy(np.int64).tolist()
    names = pd.array([_name(*demands) for demands in kinds], dtype=str)
    return frame.assign(job_class=names.take(group))


def _name(cpu_milli: int, gpu_milli: int, memory_bytes: int, priority: int) -> str:
    parts = [
        f"{cpu_milli / 1000:g}c",
        f"{gpu_milli / 1000:g}gpu" if gpu_milli else "",
        f"{memory_bytes / 2**30:g}g" if memory_bytes else "",
        f"p{priority}" if priority else "",
    ]
    return "_".join(part for part in parts if part)
