"""Jobs of a trace on a Slurm cluster: their needs, submission, start and stop."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import pandas as pd

from trimtab.clusters.cluster import JobClass
from trimtab.errors import UserError
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.configuration import mebibytes
from trimtab.execution.slurm.reports import WAIT
from trimtab.policies.base import PendingTask, Placement, RunningTask

_PATIENCE_S = 60.0


@dataclass(slots=True)
class SlurmJob:
    """A job of the trace: its needs and its progress. Times and work are the trace's.

    `left_s` is the remaining work, on the reference node. `placement` is set while it has, or will
    get, a place; `started_s` while it runs there.
    """

    task: PendingTask
    job_class: JobClass
    arrival_s: float
    work_s: float
    command: str
    left_s: float
    number: int = -1  # in Slurm
    placement: Placement | None = None
    started_s: float | None = None
    stopped_s: float = 0.0
    exit_code: int | None = None

    @property
    def name(self) -> str:
        """Its name in files."""
        return f"job{self.task.job}"

    @property
    def running(self) -> RunningTask:
        """The running job as policies see it."""
        assert self.placement is not None
        assert self.started_s is not None
        return RunningTask(self.task, self.placement.node, self.placement.level, self.started_s)


def jobs_of(
    trace: pd.DataFrame, cluster: SlurmCluster, job_classes: Sequence[JobClass]
) -> list[SlurmJob]:
    """Return the jobs of a table with the columns of `tables.TRACE`, in its order.

    An optional column `command` holds shell commands; without it jobs sleep for their service time.
    Raises UserError for a job that this Slurm can never run.
    """
    numbers = {job_class.name: number for number, job_class in enumerate(job_classes)}
    jobs = []
    for row in trace.to_dict("records"):
        if row["job_class"] not in numbers:
            known = ", ".join(numbers)
            raise UserError(f"job {row['job']}: job_class: {row['job_class']}: there are {known}")
        number = numbers[row["job_class"]]
        sizes = (int(row[name]) for name in ("cpu_milli", "gpu_milli", "memory_bytes"))
        task = PendingTask(int(row["job"]), number, int(row["priority"]), *sizes)
        work_s = float(row["work_s"])
        _check(task, work_s, cluster, job_classes[number])
        jobs.append(
            SlurmJob(
                task,
                job_classes[number],
                float(row["arrival_s"]),
                work_s,
                str(row.get("command", WAIT)),
                left_s=work_s,
            )
        )
    return jobs


def _check(task: PendingTask, work_s: float, cluster: SlurmCluster, job_class: JobClass) -> None:
    job = f"job {task.job}"
    if not (isfinite(work_s) and work_s >= 0):
        raise UserError(f"{job}: work_s: {work_s}: draw the service times of jobs of rounds first")
    if task.cpu_milli < 1000 or task.cpu_milli % 1000:
        raise UserError(f"{job}: cpu_milli: {task.cpu_milli}: Slurm gives whole cores, n * 1000")
    if task.gpu_milli:
        raise UserError(f"{job}: gpu_milli: {task.gpu_milli}: the virtual nodes have no GPUs")
    types = cluster.cluster.node_types
    if not any(
        job_class.runs_on(types[node.node_type].name)
        and node.cores * 1000 >= task.cpu_milli
        and node.memory_bytes >= task.memory_bytes
        for node in cluster.nodes
    ):
        raise UserError(
            f"{job}: {task.cpu_milli // 1000} cores and {task.memory_bytes} bytes fit no node"
            + (" with an enclave for them" if job_class.protection is not None else "")
        )


def submit(
    cluster: SlurmCluster,
    script: str,
    *,
    cores: int = 1,
    memory_bytes: int = 1 << 20,
    constraint: str = "",
) -> int:
    """Submit a job for one node, held until `start_on`; return its number in Slurm.

    With a `constraint`, Slurm itself starts it, only on nodes with these features.
    """
    told = cluster.call(
        "sbatch",
        "--parsable",
        "--hold",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={cores}",
        f"--mem={mebibytes(memory_bytes)}M",
        *([f"--constraint={constraint}"] if constraint else []),
        "--output=/dev/null",
        stdin=script,
    )
    return int(told.split(";")[0])


def show(cluster: SlurmCluster, job: int) -> dict[str, str]:
    """Return the fields of `scontrol show job`: JobState, NodeList, Restarts, ..."""
    fields = cluster.call("scontrol", "--oneliner", "show", "job", str(job)).split()
    return dict(field.split("=", 1) for field in fields if "=" in field)


def wait_for(cluster: SlurmCluster, job: int, state: str) -> None:
    """Wait until the job is in a state (PENDING, RUNNING, COMPLETED, FAILED, ...).

    Raises TrimtabError after a minute.
    """
    cluster.wait_until(
        lambda: show(cluster, job)["JobState"] == state, f"job {job} is not {state}", _PATIENCE_S
    )


def start_on(cluster: SlurmCluster, job: int, node: str) -> None:
    """Let a held job start, on this node and no other.

    Slurm holds a requeued job for two minutes, so it cannot start twice on a node that has not
    noticed; setting `StartTime` ends that.
    """
    cluster.call("scontrol", "update", f"JobId={job}", f"ReqNodeList={node}", "StartTime=now")
    cluster.call("scontrol", "release", str(job))


def stop(cluster: SlurmCluster, job: int) -> None:
    """Stop a running job; on return it is pending again, and held."""
    cluster.call("scontrol", "requeuehold", str(job))
    wait_for(cluster, job, "PENDING")


def cancel(cluster: SlurmCluster, job: int) -> None:
    """Remove a job from the queue."""
    cluster.call("scancel", str(job))
