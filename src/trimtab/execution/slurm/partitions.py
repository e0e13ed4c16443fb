"""P and NP by Slurm itself: a partition for each priority, with Slurm's preemption or without.

For use from Python (docs/how-to/schedule-on-slurm.md).
"""

from collections.abc import Sequence

import pandas as pd

from trimtab.clusters.cluster import JobClass
from trimtab.errors import UserError
from trimtab.execution.history import JobOutcome
from trimtab.execution.slurm import jobs as slurm_jobs
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.configuration import partition_of
from trimtab.execution.slurm.trace import SlurmJob, jobs_of
from trimtab.execution.slurm.trace_run import TraceRun
from trimtab.policies.base import Placement


def run_partitions(
    cluster: SlurmCluster,
    trace: pd.DataFrame,
    job_classes: Sequence[JobClass],
    *,
    preemptive: bool,
    scale: float = 1.0,
) -> JobOutcome:
    """Run `trace` in the cluster's partitions and return what happened, in the trace's seconds.

    Slurm alone decides. With `preemptive` (preempt/partition_prio) a job evicts those of lower
    priority, which start again from their beginning; the two minutes for which Slurm holds a
    requeued job are ended at once. See `run_policy` for `scale` and what else holds of both.

    Raises UserError for jobs that cannot run or whose priority has no partition, and TrimtabError
    when jobs do not report in time.
    """
    jobs = jobs_of(trace, cluster, job_classes)
    if unknown := {job.task.priority for job in jobs} - set(cluster.priorities):
        raise UserError(
            f"priority {min(unknown)}: this cluster has partitions for {cluster.priorities} alone"
        )
    mode = "REQUEUE" if preemptive else "OFF"
    for priority in cluster.priorities:
        cluster.call(
            "scontrol", "update", f"PartitionName={partition_of(priority)}", f"PreemptMode={mode}"
        )
    with _PartitionRun(cluster, jobs, scale) as run:
        run.run()
    return run.outcome(trace)


class _PartitionRun(TraceRun):
    def submit(self, job: SlurmJob) -> int:
        for number, kind in enumerate(self.cluster.cluster.node_types):
            service_s = job.work_s / self.speed(job, number)
            self.reports.set_service_s(job.name, kind.name, service_s * self.scale)
        return slurm_jobs.submit(
            self.cluster,
            self.reports.script(job.name, job.command),
            cores=job.cores,
            memory_bytes=job.task.memory_bytes,
            partition=partition_of(job.task.priority),
        )

    def act(self) -> None:
        return None

    def started(self, job: SlurmJob) -> None:
        (node,) = (
            number for number, node in enumerate(self.cluster.nodes) if node.name == job.node
        )
        job.placement = Placement(node, len(self.cluster.type_of(node).levels) - 1)

    def stopped(self, job: SlurmJob, time_s: float) -> None:
        self.leave(job, time_s, "evicted", keeps_work=False)
        slurm_jobs.end_requeue_hold(self.cluster, job.number)
