"""Single jobs on a Slurm cluster: submit, look, start where we say, stop, requeue, migrate.

A job that Slurm requeues is held for two minutes, lest it starts twice on a node that has not
noticed; a `StartTime` ends that, and may be set as soon as the job is pending again.
"""

from pathlib import Path

from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.configuration import mebibytes

_PATIENCE_S = 60.0


def submit(
    cluster: SlurmCluster,
    script: str,
    *,
    cores: int = 1,
    memory_bytes: int = 1 << 20,
    partition: str = "main",
    held: bool = False,
    feature: str | None = None,
    output: Path = Path("/dev/null"),
) -> int:
    """Submit a job on one node and return Slurm's number of it; `held` jobs wait for a release."""
    options = [f"--constraint={feature}"] if feature is not None else []
    told = cluster.call(
        "sbatch",
        "--parsable",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={cores}",
        f"--mem={mebibytes(memory_bytes)}M",
        f"--partition={partition}",
        f"--output={output}",
        *options,
        *(["--hold"] if held else []),
        stdin=script,
    )
    return int(told.split(";")[0])


def show(cluster: SlurmCluster, job: int) -> dict[str, str]:
    """Return what `scontrol show job` says, by its names: JobState, NodeList, Restarts, ..."""
    fields = cluster.call("scontrol", "--oneliner", "show", "job", str(job)).split()
    return dict(field.split("=", 1) for field in fields if "=" in field)


def state(cluster: SlurmCluster, job: int) -> str:
    """Return the job's state: PENDING, RUNNING, COMPLETING, COMPLETED, FAILED, ..."""
    return show(cluster, job)["JobState"]


def wait_for(cluster: SlurmCluster, job: int, *states: str) -> None:
    """Wait until the job is in one of the states; raises TrimtabError after a minute."""
    cluster.wait_until(
        lambda: state(cluster, job) in states,
        f"job {job} is not {' or '.join(states)}",
        _PATIENCE_S,
    )


def start_on(cluster: SlurmCluster, job: int, node: str) -> None:
    """Let a held job start, on this node and no other."""
    cluster.call("scontrol", "update", f"JobId={job}", f"ReqNodeList={node}", "StartTime=now")
    cluster.call("scontrol", "release", str(job))


def stop(cluster: SlurmCluster, job: int) -> None:
    """Take a running job off its node: it is pending again, held, when this returns."""
    cluster.call("scontrol", "requeuehold", str(job))
    wait_for(cluster, job, "PENDING")


def end_requeue_hold(cluster: SlurmCluster, job: int) -> None:
    """Let a job that was requeued start again, once all of it has left its node.

    Two seconds from now: a node refuses a job that starts in the second in which it was stopped
    there ("Job credential revoked").
    """
    wait_for(cluster, job, "PENDING")
    cluster.call("scontrol", "update", f"JobId={job}", "StartTime=now+2")


def requeue(cluster: SlurmCluster, job: int) -> None:
    """Stop a running job and let it start again from its beginning."""
    cluster.call("scontrol", "requeue", str(job))
    end_requeue_hold(cluster, job)


def migrate(cluster: SlurmCluster, job: int, node_type: str) -> None:
    """Stop a running job and let it start again on any node of another type."""
    stop(cluster, job)
    cluster.call(
        "scontrol",
        "update",
        f"JobId={job}",
        f"Features={node_type}",
        "ReqNodeList=",
        "StartTime=now",
    )
    cluster.call("scontrol", "release", str(job))


def cancel(cluster: SlurmCluster, job: int) -> None:
    """Take a job out of the queue."""
    cluster.call("scancel", str(job))
