"""The figures of finished jobs: of a class or of all, by formula, simulated or run for real."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.values import AboveZero, Amount, Measure, Share

RANKS = (50, 95, 99)  # the percentiles of response times
# The mean of a count over replications need not be whole.
Count = Annotated[int | float, Field(ge=0, le=2**63)]


@dataclass(frozen=True, config=PART, kw_only=True)
class ResponseFigures:
    """What a formula says of the jobs of a class too; null where there was no job.

    Response: from arrival to finish, of which execution is the one that finished, with its set-up,
    and waiting the rest. `waste_share` is of machine time, 0 to 1: executions thrown away.
    """

    response_mean_s: Amount | None
    response_p50_s: Amount | None
    response_p95_s: Amount | None
    response_p99_s: Amount | None
    waiting_mean_s: Measure | None
    execution_mean_s: Amount | None
    waste_share: Share | None


@dataclass(frozen=True, config=PART, kw_only=True)
class JobFigures(ResponseFigures):
    """The figures of jobs that were simulated or run; sums are over all jobs.

    `energy_j` is without the nodes' idle power. Half-widths are those of 99 % confidence intervals
    of the means over replications; null where there is one.
    """

    jobs: Count
    set_up_mean_s: Amount | None
    sprint_s: Amount
    energy_j: Amount | None
    evictions: Count
    migrations: Count
    dropped_tasks: Count
    response_mean_s_half_width_99: Amount | None = None
    response_p95_s_half_width_99: Amount | None = None
    waiting_mean_s_half_width_99: Amount | None = None
    execution_mean_s_half_width_99: Amount | None = None
    waste_share_half_width_99: Amount | None = None


@dataclass(frozen=True, config=PART, kw_only=True)
class ClassFigures(JobFigures):
    """The figures of one class of jobs; a higher `priority` is more important.

    `drop_ratio`, 0 to 1, is of a job's tasks; the loss of accuracy is null where it is unknown.
    """

    priority: Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
    drop_ratio: Share = 0.0
    accuracy_loss_pct: Measure | None = None


@dataclass(frozen=True, config=PART, kw_only=True)
class TotalFigures(JobFigures):
    """The figures of all jobs and of the cluster.

    `utilisation`, 0 to 1, is of the cores of nodes that are up; `unfinished` jobs never found a
    place.
    """

    makespan_s: Amount
    utilisation: Amount
    idle_energy_j: Amount | None
    active_energy_j: Amount | None
    unfinished: Count
    replications: AboveZero = 1
    makespan_s_half_width_99: Amount | None = None
    idle_energy_j_half_width_99: Amount | None = None
    active_energy_j_half_width_99: Amount | None = None
