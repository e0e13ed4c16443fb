"""Microsoft's Philly trace: deep-learning jobs on GPUs.

https://github.com/msr-fiddle/philly-traces: cluster_job_log, JSON, a list of jobs: status (Pass,
Killed, Failed), jobid, submitted_time, attempts (each start_time, end_time, detail: a list of ip
and gpus).
"""

import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trimtab.errors import UserError
from trimtab.files import parse_json
from trimtab.traces.formats.philly_table import jobs_on_gpus
from trimtab.traces.text_file import open_text

_LOG = "cluster_job_log of the Philly trace: a JSON list of jobs"
_MOST_BYTES = 1 << 28  # the log of all jobs has 90 MB


def read(
    path: Path, skipped: Counter[str], cpu_milli_per_gpu: int, memory_bytes_per_gpu: int
) -> Iterator[pd.DataFrame]:
    """Yield the jobs of cluster_job_log that passed, of priority 0.

    A job arrives at its submitted_time and works as long as its last attempt, on the GPUs of
    that attempt; earlier attempts, which failed or were preempted, are ignored. Times are local
    ones; the hour that a change of clocks adds is ignored. Jobs of another status, and without a
    complete attempt, are counted in `skipped`. The log (117,325 jobs) is read as a whole.
    For the per-GPU demands see philly_table. Raises UserError that names the file and job.
    """
    try:
        with open_text(path, _MOST_BYTES) as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f"larger than {_MOST_BYTES:,} bytes")
        entries = parse_json(text)
        if not isinstance(entries, list):
            raise ValueError(f"{type(entries).__name__}, not a list")
    except UserError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"{path}: {error}; expected {_LOG}") from None
    rows: list[tuple[float, float, int]] = []
    for number, entry in enumerate(entries):
        try:
            row = _last_attempt(entry, skipped)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = f"{type(error).__name__} {error}"
            raise UserError(f"{path}: job {number}: {reason}; expected {_LOG}") from None
        if row is not None:
            rows.append(row)
    arrival_s, work_s, gpus = np.array(rows, np.float64).reshape(-1, 3).T
    yield jobs_on_gpus(arrival_s, work_s, gpus, cpu_milli_per_gpu, memory_bytes_per_gpu)


def _last_attempt(entry: dict[str, Any], skipped: Counter[str]) -> tuple[float, float, int] | None:
    """Return arrival, run time (s) and number of GPUs of a job; None for a skipped one."""
    if entry["status"] != "Pass":
        skipped[entry["status"].lower()] += 1
        return None
    no_attempt: dict[str, Any] = {"start_time": None, "end_time": None, "detail": []}
    last = entry["attempts"][-1] if entry["attempts"] else no_attempt
    times = (entry["submitted_time"], last["start_time"], last["end_time"])
    if any(time in (None, "None") for time in times):
        skipped["no complete attempt"] += 1
        return None
    submitted, start, end = (float(np.datetime64(time, "s").astype(np.int64)) for time in times)
    return submitted, end - start, sum(len(machine["gpus"]) for machine in last["detail"])
