"""What policies are made from: the cluster, the classes of jobs, and what was probed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from trimtab.clusters.cluster import Cluster, JobClass


@dataclass(frozen=True)
class Asked:
    """What an average job of a class asks for; `work_s` on the reference node."""

    cores: float
    memory_gib: float
    work_s: float
    gpus: float = 0.0


@dataclass(frozen=True)
class ProbeRun:
    """What a probing task, or one that has ended, took on a node type at a frequency level.

    `energy_j` is the run's own, without the node's idle power; `level` 0 is the lowest.
    """

    node_type: str
    cores: float
    memory_gib: float
    level: int
    wall_s: float
    energy_j: float
    gpus: float = 0.0


@dataclass(frozen=True)
class Facts:
    """All that a policy may be made from; `asked` has one entry a class of jobs."""

    cluster: Cluster
    job_classes: Sequence[JobClass]
    asked: Sequence[Asked]
    probes: Sequence[ProbeRun] = field(default_factory=tuple)
    seed: int = 1

    @property
    def levels(self) -> list[int]:
        """The number of frequency levels of each node type."""
        return [len(node_type.levels) for node_type in self.cluster.node_types]
