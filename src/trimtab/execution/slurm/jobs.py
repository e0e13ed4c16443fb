"""Single jobs on a Slurm cluster: submit, look, start where we say, stop, cancel."""

from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.configuration import mebibytes

_PATIENCE_S = 60.0


def submit(
    cluster: SlurmCluster, script: str, *, cores: int = 1, memory_bytes: int = 1 << 20
) -> int:
    """Submit a job on one node, held until `start_on`, and return Slurm's number of it."""
    told = cluster.call(
        "sbatch",
        "--parsable",
        "--hold",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={cores}",
        f"--mem={mebibytes(memory_bytes)}M",
        "--output=/dev/null",
        stdin=script,
    )
    return int(told.split(";")[0])


def show(cluster: SlurmCluster, job: int) -> dict[str, str]:
    """Return what `scontrol show job` says, by its names: JobState, NodeList, Restarts, ..."""
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

    A job that Slurm requeued is held for two minutes, lest it starts twice on a node that has not
    noticed; the `StartTime` ends that.
    """
    cluster.call("scontrol", "update", f"JobId={job}", f"ReqNodeList={node}", "StartTime=now")
    cluster.call("scontrol", "release", str(job))


def stop(cluster: SlurmCluster, job: int) -> None:
    """Take a running job off its node: it is pending again, held, when this returns."""
    cluster.call("scontrol", "requeuehold", str(job))
    wait_for(cluster, job, "PENDING")


def cancel(cluster: SlurmCluster, job: int) -> None:
    """Take a job out of the queue."""
    cluster.call("scancel", str(job))
