"""The figures of finished jobs: of a class or of all, by formula, simulated or run for real."""

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART

RANKS = (50, 95, 99)  # the percentiles of response times
Count = int | float  # the mean of a count over replications need not be whole


@dataclass(frozen=True, config=PART, kw_only=True)
class ResponseFigures:
    """What a formula says of the jobs of a class too; null where there was no job.

    Response: from arrival to finish, of which execution is the one that finished, with its set-up,
    and waiting the rest. `waste_share` is of machine time, 0 to 1: executions thrown away.
    """

    response_mean_s: float | None
    response_p50_s: float | None
    response_p95_s: float | None
    response_p99_s: float | None
    waiting_mean_s: float | None
    execution_mean_s: float | None
    waste_share: float | None


@dataclass(frozen=True, config=PART, kw_only=True)
class JobFigures(ResponseFigures):
    """The figures of jobs that were simulated or run; sums are over all jobs.

    `energy_j` is without the nodes' idle power. Half-widths are those of 99 % confidence intervals
    of the means over replications; null where there is one.
    """

    jobs: Count
    set_up_mean_s: float | None
    sprint_s: float
    energy_j: float | None
    evictions: Count
    migrations: Count
    dropped_tasks: Count
    response_mean_s_half_width_99: float | None = None
    response_p95_s_half_width_99: float | None = None
    waiting_mean_s_half_width_99: float | None = None
    execution_mean_s_half_width_99: float | None = None
    waste_share_half_width_99: float | None = None


@dataclass(frozen=True, config=PART, kw_only=True)
class ClassFigures(JobFigures):
    """The figures of one class of jobs; a higher `priority` is more important.

    `drop_ratio`, 0 to 1, is of a job's tasks; the loss of accuracy is null where it is unknown.
    """

    priority: int
    drop_ratio: float = 0.0
    accuracy_loss_pct: float | None = None


@dataclass(frozen=True, config=PART, kw_only=True)
class TotalFigures(JobFigures):
    """The figures of all jobs and of the cluster.

    `utilisation`, 0 to 1, is of the cores of nodes that are up; `unfinished` jobs never found a
    place.
    """

    makespan_s: float
    utilisation: float
    idle_energy_j: float | None
    active_energy_j: float | None
    unfinished: Count
    replications: int = 1
    makespan_s_half_width_99: float | None = None
    idle_energy_j_half_width_99: float | None = None
    active_energy_j_half_width_99: float | None = None
