"""The model of a cluster: node types, outages, classes of jobs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.rounds import RoundServiceTimes
from trimtab.errors import UserError

WHOLE_GPU = 1000  # thousandths
MOST_GPUS = 63  # of a node; the simulator has a bit for each


@dataclass(frozen=True)
class Level:
    """A frequency level of a node: speed, and power above idle when the node is fully busy.

    `speed` is the work per second of one core, relative to the reference node's highest level.
    `gpu_active_w` is of one GPU.
    """

    speed: float
    active_w: float
    gpu_active_w: float = 0.0


@dataclass(frozen=True)
class NodeType:
    """A kind of node. `levels` are its frequency levels, slowest first.

    `idle_w` is of the whole node with its GPUs. `load_curve` is the share of `active_w` drawn at 0,
    10, ... 100 % of the cores in use (11 numbers, as SPECpower reports them); empty: the load
    itself. `network_bytes_per_s` is the rate for images and migrating state. `enclave` names the
    protection of jobs on it; empty: none. A job's share of a GPU is rounded up to `gpu_slices`.
    """

    name: str
    cpu_milli: int
    memory_bytes: int
    idle_w: float
    levels: tuple[Level, ...]
    gpu_milli: int = 0
    load_curve: tuple[float, ...] = ()
    network_bytes_per_s: float = math.inf
    enclave: str = ""
    gpu_slices: int = WHOLE_GPU

    def __post_init__(self) -> None:
        if min(self.cpu_milli, self.memory_bytes) <= 0 or self.gpu_milli < 0 or self.idle_w < 0:
            raise UserError(f"node type {self.name}: a size or the idle power is negative or 0")
        gpus, rest = divmod(self.gpu_milli, WHOLE_GPU)
        if gpus > MOST_GPUS or rest:
            expected = f"expected whole ones, and at most {MOST_GPUS} on a node"
            raise UserError(
                f"node type {self.name}: {self.gpu_milli / WHOLE_GPU:g} GPUs, {expected}"
            )
        if not 1 <= self.gpu_slices <= WHOLE_GPU:
            raise UserError(f"node type {self.name}: gpu_slices must be 1 to {WHOLE_GPU}")
        if not self.levels or any(level.speed <= 0 for level in self.levels):
            raise UserError(f"node type {self.name}: needs frequency levels of speeds above 0")
        if any(min(level.active_w, level.gpu_active_w) < 0 for level in self.levels):
            raise UserError(f"node type {self.name}: a level's power is below idle")
        if len(self.load_curve) not in (0, 11):
            raise UserError(f"node type {self.name}: load_curve needs 11 numbers, or none")
        if self.network_bytes_per_s <= 0:
            raise UserError(f"node type {self.name}: network_bytes_per_s must be above 0")


@dataclass(frozen=True)
class Outage:
    """A node's failure and return; `up_s` infinite: it never returns."""

    node: int
    down_s: float
    up_s: float = math.inf


@dataclass(frozen=True)
class Cluster:
    """`counts[i]` nodes of each type `node_types[i]`, numbered in that order from 0."""

    node_types: tuple[NodeType, ...]
    counts: tuple[int, ...]
    outages: tuple[Outage, ...] = ()

    def __post_init__(self) -> None:
        names = [node_type.name for node_type in self.node_types]
        if len(names) != len(self.counts) or min(self.counts, default=0) < 1:
            raise UserError("a cluster needs node types and, for each, a count of at least 1")
        if len(set(names)) < len(names):
            raise UserError(f"node types occur twice: {names}")
        last: dict[int, float] = {}
        for outage in sorted(self.outages, key=lambda outage: outage.down_s):
            if not 0 <= outage.node < self.size:
                raise UserError(f"outage of node {outage.node}: nodes are 0 to {self.size - 1}")
            if not 0 <= outage.down_s < outage.up_s:
                raise UserError(f"{outage}: needs 0 <= down_s < up_s")
            if outage.down_s <= last.get(outage.node, -1.0):
                raise UserError(f"{outage}: the node is still down from the outage before it")
            last[outage.node] = outage.up_s

    @property
    def size(self) -> int:
        """The number of nodes."""
        return sum(self.counts)

    @property
    def type_of_node(self) -> NDArray[np.int64]:
        """The index of each node's type."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


@dataclass(frozen=True)
class JobClass:
    """The common properties of jobs of one class.

    `slowdown` is, by node type's name, the service time relative to the type's speed (default 1).
    `active_w` is, by node type and level, the measured power above idle of a node with all cores
    running this class (default: the type's own). `cold_start_s` follows the image pull. A migration
    moves `state_bytes`; None: jobs are stateless. `rounds` draw the service times of jobs with map
    tasks. `protection` is, by node type's name, a further slowdown in the type's enclave. Jobs
    never run on a type that is missing or infinite there. None: they need no enclave.
    """

    name: str
    priority: int = 0
    image_bytes: int = 0
    cold_start_s: float = 0.0
    state_bytes: int | None = None
    slowdown: Mapping[str, float] = field(default_factory=dict)
    active_w: Mapping[str, Sequence[float]] = field(default_factory=dict)
    rounds: RoundServiceTimes | None = None
    protection: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if min(self.image_bytes, self.cold_start_s, self.state_bytes or 0) < 0:
            raise UserError(f"job class {self.name}: a size or time is negative")
        if any(not slowdown > 0 for slowdown in self.slowdown.values()):
            raise UserError(f"job class {self.name}: slowdown must be above 0")
        if any(not factor > 0 for factor in (self.protection or {}).values()):
            raise UserError(f"job class {self.name}: protection must be above 0")

    def protected(self, node_type: str) -> float:
        """Return the slowdown by protection on a node type.

        1: no protection; infinite: these jobs never run there.
        """
        return 1.0 if self.protection is None else self.protection.get(node_type, math.inf)

    def runs_on(self, node_type: str) -> bool:
        """Return whether these jobs may run on a node type, regardless of room."""
        return self.protected(node_type) < math.inf


def check_classes(cluster: Cluster, job_classes: Sequence[JobClass]) -> None:
    """Check that class names are unique, and that their node types are in the cluster.

    Raises UserError with the class and the node type.
    """
    classes = [job_class.name for job_class in job_classes]
    if not classes or len(set(classes)) < len(classes):
        raise UserError(f"job classes are missing or occur twice: {classes}")
    levels = {node_type.name: len(node_type.levels) for node_type in cluster.node_types}
    for job_class in job_classes:
        tables: dict[str, Iterable[str]] = {
            "slowdown": job_class.slowdown,
            "active_w": job_class.active_w,
            "protection": job_class.protection or (),
        }
        for key, names in tables.items():
            for name in names:
                if name not in levels:
                    known = ", ".join(levels)
                    message = f"unknown node type {name!r}; the cluster has {known}"
                    raise UserError(f"job class {job_class.name}: {key}: {message}")
        for name, watts in job_class.active_w.items():
            if len(watts) != levels[name] or min(watts) < 0:
                message = f"{name} has {levels[name]} levels, each of a power of at least 0"
                raise UserError(f"job class {job_class.name}: active_w: {message}")
        if not any(map(job_class.runs_on, levels)):
            raise UserError(
                f"job class {job_class.name}: secure, but of the node types {', '.join(levels)} "
                "none has an enclave that its jobs fit; expected `enclave: NAME` in the YAML of one"
            )
