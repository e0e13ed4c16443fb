"""Reads an operator's file of jobs, whatever it is."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from trimtab.batch.readers import swf, table, traces
from trimtab.batch.readers.head import Head, read_head
from trimtab.batch.readers.jobs import FoundJobs, batch_jobs
from trimtab.batch.readers.kubernetes import objects
from trimtab.batch.readers.recognition import format_of
from trimtab.batch.readers.slurm import sacct
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError

READERS: dict[str, Callable[[Path, Head], FoundJobs]] = {
    "csv": table.read,
    "sacct": sacct.read,
    "swf": swf.read,
    "kubernetes": objects.read,
    **traces.READERS,
}


# Times between 1990 and 2100 are dates, others count from any time.
_OLDEST_S, _NEWEST_S = 631_152_000.0, 4_102_444_800.0


@dataclass(frozen=True)
class ReadJobs:
    """The jobs of a file (BATCH_JOBS), its format, how many jobs were skipped for which reason.

    `remarks` are sentences on what was assumed. `cluster` are the nodes, if the file says them, and
    `first_submission` its date.
    """

    jobs: pd.DataFrame
    format: str
    skipped: Counter[str]
    remarks: list[str]
    cluster: Cluster | None
    first_submission: datetime | None


def read_jobs(path: Path, format: str | None = None) -> ReadJobs:
    """Return the jobs of the file at `path`, sorted by submission; its content tells its format.

    `format` names one of READERS instead. The file may be compressed by gzip. Raises UserError with
    the file, the place in it, and what was expected.
    """
    if format is not None and format not in READERS:
        raise UserError(f"format {format!r}: expected one of {', '.join(READERS)}")
    head = read_head(path)
    name = format_of(path, head) if format is None else format
    found = READERS[name](path, head)
    jobs = batch_jobs(path, found)
    skipped = Counter({reason: count for reason, count in found.skipped.items() if count})
    dated = _OLDEST_S < found.origin_s < _NEWEST_S
    began = datetime.fromtimestamp(found.origin_s, UTC) if dated else None
    return ReadJobs(jobs, name, skipped, found.remarks, found.cluster, began)
