"""The figures of finished jobs, by class or in all: by formula, simulated or real."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.values import AboveZero, Amount, Measure, Share, Text

PredictedRuns = StrEnum("PredictedRuns", "JOBS PROBES")
RANKS = (50, 95, 99)  # percentiles of response times
# The mean of a count over replications may have a fraction.
Count = Annotated[int | float, Field(ge=0, le=2**63)]


@dataclass(frozen=True, config=PART, kw_only=True)
class ResponseFigures:
    """The figures of a class's jobs that formulas also give; null without a job.

    Response is from arrival to finish: execution, with set-up, is the one that finished, and
    waiting is the rest. `waste_share` is the share of machine time, 0 to 1, of discarded
    executions.
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
    """The figures of simulated or real jobs; sums are over all jobs.

    `energy_j` excludes the nodes' idle power. Half-widths are of 99 % confidence intervals of the
    means over replications; null with one replication.
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

    `drop_ratio`, 0 to 1, is of a job's tasks; the loss of accuracy is null if unknown.
    """

    priority: Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
    drop_ratio: Share = 0.0
    accuracy_loss_pct: Measure | None = None


@dataclass(frozen=True, config=PART, kw_only=True)
class TotalFigures(JobFigures):
    """The figures of all jobs and of the cluster.

    `utilisation`, 0 to 1, is of the cores of running nodes; `unfinished` jobs never got a place.
    `gpu_utilisation` is of their GPUs; `gpu_fragmentation` is the share of their free GPU time that
    is on partly used GPUs. Both are 0 to 1, and null without any.
    """

    makespan_s: Amount
    utilisation: Amount
    gpu_utilisation: Share | None
    gpu_fragmentation: Share | None
    idle_energy_j: Amount | None
    active_energy_j: Amount | None
    unfinished: Count
    replications: AboveZero = 1
    makespan_s_half_width_99: Amount | None = None
    idle_energy_j_half_width_99: Amount | None = None
    active_energy_j_half_width_99: Amount | None = None


@dataclass(frozen=True, config=PART, kw_only=True)
class PredictionErrors:
    """How well run time, energy and power on a type of node were predicted.

    `of` finished jobs of a class that stayed on one node, or of the real runs of a probing `task`,
    each predicted from others. Means without set-up and idle power, and means of the errors
    relative to each job or run, without sign.
    """

    of: PredictedRuns
    task: Text
    node_type: Text
    runs: AboveZero
    run_time_s: Amount
    energy_j: Amount
    power_w: Amount
    run_time_error_pct: Amount
    energy_error_pct: Amount
    power_error_pct: Amount
