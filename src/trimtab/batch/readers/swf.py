"""Standard Workload Format, with what trimtab.traces.formats.swf leaves out.

Used besides, numbered as there: 3 wait time (s), 9 requested time (s), 12 user, 13 group,
15 queue.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.nodes import pool_of
from trimtab.batch.readers.head import Head
from trimtab.batch.readers.jobs import FoundJobs, joined
from trimtab.traces.formats.swf import numbers_of

_SIZE = re.compile(r";\s*(MaxProcs|MaxNodes):\s*([0-9]{1,9})\b")
_PARTS_OF_JOBS = [2, 3, 4]  # statuses of lines that another line sums up
_CANCELLED = 5
_KB = 1024


def read(path: Path, head: Head) -> FoundJobs:
    """Return the jobs that ran, also failed and cancelled ones: each held its processors.

    A job has a part of one core for each of its requested, or else allocated processors. Its memory
    is the requested, or else the used one. The machine's size is MaxProcs, or else MaxNodes, of the
    comments at the beginning. Raises UserError with the file and the line.
    """
    skipped = Counter[str]()
    frame = joined(path, (_jobs(fields, skipped) for fields in numbers_of(path)))
    sizes = {match[1]: int(match[2]) for match in map(_SIZE.match, head.lines) if match}
    cores = sizes.get("MaxProcs") or sizes.get("MaxNodes")
    return FoundJobs(frame, skipped, cluster=pool_of(cores) if cores else None)


def _jobs(fields: NDArray[np.float64], skipped: Counter[str]) -> pd.DataFrame:
    status = fields[:, 10]
    part_of_job = np.isin(status, _PARTS_OF_JOBS)
    never_started = ~part_of_job & (status == _CANCELLED) & ~(fields[:, 3] > 0)
    skipped["parts of another job"] += int(part_of_job.sum())
    skipped["never started"] += int(never_started.sum())
    fields = fields[~part_of_job & ~never_started]
    known = np.where(fields < 0, np.nan, fields)  # -1 is unknown
    requested = np.where(fields > 0, fields, np.nan)
    memory_kb = np.where(fields[:, 9] > 0, known[:, 9], known[:, 6])
    return pd.DataFrame(
        {
            "name": _names(fields[:, 0]),
            "submit_s": known[:, 1],
            "run_s": known[:, 3],
            "estimate_s": requested[:, 8],
            "parts": np.where(fields[:, 7] > 0, fields[:, 7], requested[:, 4]),
            "cpu_milli": 1000,
            "memory_bytes": np.nan_to_num(memory_kb, posinf=np.inf) * _KB,
            "user": _names(fields[:, 11]),
            "group": _names(fields[:, 12]),
            "queue": _names(fields[:, 14]),
            "start_s": known[:, 1] + known[:, 2],
        }
    )


def _names(numbers: NDArray[np.float64]) -> "pd.Series[str]":
    """Return numbers as text; nothing for unknown ones."""
    codes, values = pd.factorize(numbers)
    names = pd.Series([f"{value:.0f}" if value >= 0 else "" for value in values], dtype=str)
    return names.take(codes).reset_index(drop=True)
