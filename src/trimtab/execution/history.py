"""The tables of jobs and allocations of real runs, derived from the allocations alone.

The real queues (`dispatch.py`, `slurm/`) record one allocation for each job and place; a job's
other columns follow from its allocations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from math import inf, nan
from operator import attrgetter

import pandas as pd

from trimtab.errors import TrimtabError
from trimtab.records.tables import ALLOCATIONS, SCHEDULED


@dataclass(frozen=True, slots=True)
class Allocation:
    """A job's allocation on a node at one frequency; fields as in `tables.ALLOCATIONS`."""

    job: int
    node: int
    level: int
    cpu_milli: int
    start_s: float
    ready_s: float
    end_s: float
    end: str  # finished | evicted | migrated | failed | level

    @property
    def duration_s(self) -> float:
        """Its duration."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class JobOutcome:
    """The result of a real queue.

    `jobs` and `allocations` have the columns of `tables.SCHEDULED` and `tables.ALLOCATIONS`. They
    include failed jobs, whose codes are in `exit_codes`, by job (negative: the signal). `sprinter`
    describes how jobs were sped up, `energy` the source of the joules.
    """

    jobs: pd.DataFrame
    allocations: pd.DataFrame
    exit_codes: Mapping[int, int]
    sprinter: str = "none"
    energy: str = "unknown"


def allocations_table(allocations: Sequence[Allocation]) -> pd.DataFrame:
    """Return the allocations as a table of `tables.ALLOCATIONS`, in the order given."""
    return pd.DataFrame(
        [asdict(allocation) for allocation in allocations], columns=ALLOCATIONS.names
    )


def jobs_table(
    trace: pd.DataFrame,
    allocations: Sequence[Allocation],
    *,
    sprint_level: float = inf,
    resumes: bool = False,
    energy_j: Mapping[int, float] | None = None,
) -> pd.DataFrame:
    """Return one row per job with the columns of `tables.SCHEDULED`, in the order of finishing.

    `trace` needs job, job_class, priority and arrival_s; `allocations` are in the order in which
    they ended. Time at `sprint_level` counts as sprinting. An eviction wastes the work since the
    job's start or last eviction, unless it `resumes`; a migration wastes nothing. A job without an
    entry in `energy_j` has NaN joules.

    Raises TrimtabError when a job has no allocations, or the last one did not finish or fail.
    """
    of_job = attrgetter("job")
    by_job = {job: list(group) for job, group in groupby(sorted(allocations, key=of_job), of_job)}
    rows = []
    columns = (trace[name].tolist() for name in ("job", "job_class", "priority", "arrival_s"))
    for job, job_class, priority, arrival_s in zip(*columns, strict=True):
        own = by_job.get(job, [])
        if not own or own[-1].end not in ("finished", "failed"):
            raise TrimtabError(f"job {job} was neither finished nor reported as failed")
        last = own[-1]
        ends = [allocation.end for allocation in own]
        wasted = 0 if resumes or "evicted" not in ends else len(ends) - ends[::-1].index("evicted")
        rows.append(
            {
                "job": job,
                "job_class": job_class,
                "priority": priority,
                "arrival_s": arrival_s,
                "start_s": own[0].start_s,
                "finish_s": last.end_s,
                "response_s": last.end_s - arrival_s,
                "execution_s": sum(allocation.duration_s for allocation in own[wasted:]),
                "wasted_s": float(sum(allocation.duration_s for allocation in own[:wasted])),
                "set_up_s": sum(allocation.ready_s - allocation.start_s for allocation in own),
                "sprint_s": sum(
                    allocation.duration_s for allocation in own if allocation.level >= sprint_level
                ),
                "dropped_tasks": 0,
                "evictions": ends.count("evicted"),
                "migrations": ends.count("migrated"),
                "node": last.node,
                "level": last.level,
                "energy_j": (energy_j or {}).get(job, nan),
            }
        )
    table = pd.DataFrame(rows, columns=SCHEDULED.names)
    floats = [name for name in SCHEDULED.names if name.endswith(("_s", "_j"))]
    table[floats] = table[floats].astype(float)
    return table.sort_values(["finish_s", "job"], kind="stable", ignore_index=True)
