"""The inputs of policies: the cluster, the classes of jobs, and probing runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from trimtab.clusters.cluster import Cluster, JobClass, NodeType

_CORES = (0.5, 1.0, 2.0)  # multiples of the request of an average job of the class
_WORKS = (0.5, 1.0, 1.5)


@dataclass(frozen=True)
class Asked:
    """The request of an average job of a class; `work_s` on the reference node."""

    cores: float
    memory_gib: float
    work_s: float
    gpus: float = 0.0


@dataclass(frozen=True)
class ProbeRun:
    """The cost of a probing or finished task on a node type at a frequency level.

    `energy_j` is the run's own, without the node's idle power; `level` 0 is the lowest. `task` is
    the name of a real probing task.
    """

    node_type: str
    cores: float
    memory_gib: float
    level: int
    wall_s: float
    energy_j: float
    gpus: float = 0.0
    task: str = ""


@dataclass(frozen=True)
class PolicyInputs:
    """All inputs of a policy; `asked` has one entry per class of jobs."""

    cluster: Cluster
    job_classes: Sequence[JobClass]
    asked: Sequence[Asked]
    probes: Sequence[ProbeRun] = field(default_factory=tuple)
    seed: int = 1

    @property
    def levels(self) -> list[int]:
        """The number of frequency levels of each node type."""
        return [len(node_type.levels) for node_type in self.cluster.node_types]


def probe_nodes(
    cluster: Cluster, job_classes: Sequence[JobClass], asked: Sequence[Asked]
) -> list[ProbeRun]:
    """Return probing runs of every class on every node type at every frequency level.

    This replaces HEATS' probing phase (Rocha's thesis, section 3.3.1): on a real machine `trimtab
    advanced probe` runs tasks; here the cluster's model gives their cost. `asked` has the request
    of an average job of each class; cores and work vary around it.
    """
    return [
        ProbeRun(
            node_type.name,
            demand.cores * cores,
            demand.memory_gib,
            level,
            wall_s=(wall_s := work * run_time_s(node_type, job_class, demand.work_s, level)),
            energy_j=wall_s
            * active_w(node_type, job_class, demand.cores * cores, demand.gpus, level),
            gpus=demand.gpus,
        )
        for job_class, demand in zip(job_classes, asked, strict=True)
        for node_type in cluster.node_types
        for level in range(len(node_type.levels))
        for cores in _CORES
        for work in _WORKS
    ]


def run_time_s(node_type: NodeType, job_class: JobClass, work_s: float, level: int) -> float:
    """Return a job's run time on a node, in seconds, without its set-up."""
    slowdown = job_class.slowdown.get(node_type.name, 1.0)
    return work_s * slowdown / node_type.levels[level].speed


def active_w(
    node_type: NodeType, job_class: JobClass, cores: float, gpus: float, level: int
) -> float:
    """Return the power above idle of a job on `cores` and `gpus`, proportional to the load."""
    watts = job_class.active_w.get(node_type.name)
    whole_node_w = node_type.levels[level].active_w if watts is None else watts[level]
    gpu_w = gpus * node_type.levels[level].gpu_active_w
    return whole_node_w * cores / (node_type.cpu_milli / 1000) + gpu_w
