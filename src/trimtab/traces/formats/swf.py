"""Standard Workload Format, version 2.2: the logs of the Parallel Workloads Archive.

https://www.cs.huji.ac.il/labs/parallel/workload/swf.html: 18 fields a line, -1 where unknown;
comments begin with a semicolon. Used here, numbered as there: 1 job number, 2 submit time (s),
4 run time (s), 5 processors allocated, 7 memory used (KB a processor), 8 processors requested,
10 memory requested (KB a processor), 11 status (0 failed, 1 completed, 2 to 4 parts of a job that
has a line of its own, 5 cancelled).
"""

import csv
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.errors import UserError
from trimtab.traces.jobs import jobs_frame
from trimtab.traces.text_file import open_text

_FIELDS = 18
_BLOCK_BYTES = 4 << 20
_EXPECTED = "Standard Workload Format: 18 numbers a line, comments after a semicolon"
_STATUS = {0: "failed", 2: "part of a job", 3: "part of a job", 4: "part of a job", 5: "cancelled"}


def read(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    """Yield the jobs of the log at `path` (.swf or .swf.gz).

    A job demands its requested or else allocated processors together, a core each. Its memory is
    the requested, or else the used one; 0 if unknown. A status of -1 counts as completed. All have
    priority 0: queue numbers are not ordered. Omitted jobs are counted in `skipped` by reason.
    Raises UserError with the file and the line.
    """
    for fields in numbers_of(path):
        status = fields[:, 10]
        for code, reason in _STATUS.items():
            skipped[reason] += int((status == code).sum())
        fields = fields[~np.isin(status, list(_STATUS))]
        known = (fields[:, 1] >= 0) & (fields[:, 3] >= 0)
        skipped["no submit or run time"] += int((~known).sum())
        fields = fields[known]
        processors = np.where(fields[:, 7] > 0, fields[:, 7], fields[:, 4])
        memory_kb = np.where(fields[:, 9] > 0, fields[:, 9], np.maximum(fields[:, 6], 0))
        yield jobs_frame(
            arrival_s=fields[:, 1],
            work_s=fields[:, 3],
            cpu_milli=processors * 1000,
            memory_bytes=memory_kb * np.maximum(processors, 0) * 1024,
        )


def numbers_of(path: Path) -> Iterator[NDArray[np.float64]]:
    """Yield the lines other than comments as numbers, (lines, 18); UserError names the line."""
    try:
        with open_text(path) as file:
            first = 1
            while lines := file.readlines(_BLOCK_BYTES):
                if jobs := [line for line in lines if _is_job(line)]:
                    yield _parsed(path, jobs, lines, first)
                first += len(lines)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: {error}; expected {_EXPECTED}") from None


def _is_job(line: bytes) -> bool:
    stripped = line.lstrip()
    return bool(stripped) and not stripped.startswith(b";")


def _parsed(path: Path, jobs: list[bytes], lines: list[bytes], first: int) -> NDArray[np.float64]:
    """Return the lines of jobs as numbers; `first` is the number of the first of all `lines`."""
    try:
        table = pd.read_csv(
            io.BytesIO(b"".join(jobs)),
            sep=r"\s+",
            header=None,
            dtype=np.float64,
            na_filter=False,
            encoding="latin-1",
            quoting=csv.QUOTE_NONE,
        )
        numbers = table.to_numpy()
    except ValueError:
        numbers = np.empty((0, 0))
    if numbers.shape[1] == _FIELDS:
        return numbers
    # The slow way, to name the line.
    rows = [
        _line(path, number, line.decode("latin-1"))
        for number, line in enumerate(lines, first)
        if _is_job(line)
    ]
    return np.array(rows, np.float64)


def _line(path: Path, number: int, line: str) -> list[float]:
    fields = line.split()
    if len(fields) != _FIELDS:
        raise UserError(f"{path}:{number}: {len(fields)} fields; expected {_EXPECTED}")
    try:
        return [float(field) for field in fields]
    except ValueError as error:
        raise UserError(f"{path}:{number}: {error}; expected {_EXPECTED}") from None
