"""The nodes of a virtual Slurm cluster, and the slurm.conf that describes them (slurm.conf(5))."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.errors import UserError

_MIB = 1 << 20


@dataclass(frozen=True)
class SlurmNode:
    """One virtual node; `node_type` is the index of its type, `enclave` its feature, or none."""

    name: str
    node_type: int
    cores: int
    memory_bytes: int
    enclave: str = ""


def nodes_of(cluster: Cluster) -> list[SlurmNode]:
    """Return the nodes in the order of their numbers.

    Raises UserError for a node that Slurm cannot represent: by its name, which host lists would
    split, or by a fraction of a core.
    """
    for kind in cluster.node_types:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", kind.name):
            raise UserError(f"node type {kind.name!r}: Slurm's names are letters, digits, _ . -")
        if kind.cpu_milli % 1000:
            raise UserError(
                f"node type {kind.name}: cpu_milli: {kind.cpu_milli}: n * 1000 expected"
            )
    return [
        SlurmNode(
            f"{kind.name}-{number}",
            index,
            kind.cpu_milli // 1000,
            kind.memory_bytes,
            feature_of(kind.enclave),
        )
        for index, (kind, count) in enumerate(zip(cluster.node_types, cluster.counts, strict=True))
        for number in range(1, count + 1)
    ]


def feature_of(enclave: str) -> str:
    """Return the feature of nodes with an enclave, for jobs' --constraint."""
    return f"enclave_{enclave}" if enclave else ""


def constraint_of(job_class: JobClass, cluster: Cluster) -> str:
    """Return the --constraint of a class: the enclaves that its jobs fit, or nothing.

    See sbatch(1), --constraint; `|` is or.
    """
    if job_class.protection is None:
        return ""
    fitting = {kind.enclave for kind in cluster.node_types if job_class.runs_on(kind.name)}
    return "|".join(map(feature_of, sorted(fitting)))


def mebibytes(size_bytes: int) -> int:
    """Return `size_bytes` rounded up to MiB, Slurm's unit of memory."""
    return max(1, -(-size_bytes // _MIB))


def slurm_conf(folder: Path, host: str, ports: Sequence[int], cluster: Cluster) -> str:
    """Return the text of slurm.conf: all daemons on `host`, everything under `folder`.

    `ports` has one for the controller, then one for each node.
    """
    lines = [
        "ClusterName=trimtab",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmctldPort={ports[0]}",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={folder}/munge/socket",
        "CredType=cred/munge",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/%n.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "MpiDefault=none",
        "JobAcctGatherType=jobacct_gather/none",
        "ReturnToService=2",
        "SlurmdParameters=config_overrides",  # allows more cores and memory than the machine has
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0",
        "JobRequeue=1",
        "KillWait=2",
    ]
    lines += [
        f"NodeName={node.name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}"
        f" CPUs={node.cores} RealMemory={mebibytes(node.memory_bytes)}"
        + (f" Features={node.enclave}" if node.enclave else "")
        for node, port in zip(nodes_of(cluster), ports[1:], strict=True)
    ]
    lines.append("PartitionName=main Nodes=ALL Default=YES State=UP")
    return "\n".join(lines) + "\n"
