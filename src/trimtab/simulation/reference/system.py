"""The plain simulator's nodes and jobs, and their state at one instant."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from trimtab.clusters.cluster import WHOLE_GPU
from trimtab.policies.base import NodeState, PendingTask, Placement
from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.batches import LoadRow, load_row
from trimtab.simulation.kernel.model import class_tables


@dataclass(eq=False)
class SimulatedNode:
    """A node, and the places on it."""

    number: int
    kind: int
    places: list["NodeShare"] = field(default_factory=list)
    images: set[int] = field(default_factory=set)
    up: bool = True
    down_since_s: float = 0.0
    down_s: float = 0.0
    active_j: float = 0.0
    busy_core_s: float = 0.0
    free_gpu_s: float = 0.0
    fragmented_gpu_s: float = 0.0


@dataclass(eq=False)
class NodeShare:
    """A job's share of a node since `since_s` at one level; `drawing`: it draws power.

    `gpus` are the numbers of its GPUs.
    """

    job: "SimulatedJob"
    node: SimulatedNode
    level: int
    since_s: float
    gpus: list[int]
    drawing: bool = False


@dataclass(eq=False)
class SimulatedJob:
    """A job in the system. `times` are its own future events, by kind."""

    task: PendingTask
    arrival_s: float
    work_s: float
    dropped: int
    left_s: float
    times: dict[int, float] = field(default_factory=dict)
    here: NodeShare | None = None
    there: NodeShare | None = None
    first_s: float | None = None
    begun_s: float = 0.0
    since_s: float = 0.0
    ready_s: float = 0.0
    sprinting: bool = False
    kept_s: float = 0.0
    wasted_s: float = 0.0
    set_up_s: float = 0.0
    sprinted_s: float = 0.0
    energy_j: float = 0.0
    evictions: int = 0
    migrations: int = 0


class System:
    """The cluster with the jobs on it."""

    def __init__(self, arrivals: Arrivals) -> None:
        self.types = arrivals.cluster.node_types
        self.paces, self.sites = class_tables(arrivals.cluster, arrivals.job_classes)
        self.nodes = [
            SimulatedNode(*pair) for pair in enumerate(arrivals.cluster.type_of_node.tolist())
        ]

    def powers(self, node: SimulatedNode) -> list[tuple[NodeShare, float]]:
        """Return the active power of each place on a node that draws power."""
        drawing = [place for place in node.places if place.drawing]
        node_type = self.types[node.kind]
        load = sum(place.job.task.cpu_milli for place in drawing) / node_type.cpu_milli
        factor = 1.0
        if node_type.load_curve and load > 0:
            factor = float(np.interp(load, np.linspace(0, 1, 11), node_type.load_curve)) / load
        powers = []
        for place in drawing:
            pace = self.paces[place.job.task.job_class, node.kind, place.level]
            share = place.job.task.cpu_milli / node_type.cpu_milli
            gpus = place.job.task.gpu_milli / 1000
            watts = factor * share * float(pace["watts"]) + gpus * float(pace["gpu_watts"])
            powers.append((place, watts))
        return powers

    def integrate(self, elapsed_s: float) -> None:
        """Integrate power over time without changes."""
        for node in self.nodes:
            for place, watts in self.powers(node):
                node.active_j += watts * elapsed_s
                place.job.energy_j += watts * elapsed_s
            if node.up and self.types[node.kind].gpu_milli:
                free = self.free_gpus(node)
                node.free_gpu_s += sum(free) / WHOLE_GPU * elapsed_s
                in_part = sum(share for share in free if share < WHOLE_GPU)
                node.fragmented_gpu_s += in_part / WHOLE_GPU * elapsed_s

    def load(self, now_s: float, pending: int, running: int) -> LoadRow:
        """Return a sample of the load."""
        up = np.array([node.up for node in self.nodes])
        states = [self.state(node, PendingTask(0, 0, 0, 0, 0, 0)) for node in self.nodes]
        cpu = [1 - state.free_cpu_milli / state.cpu_milli for state in states]
        memory = [1 - state.free_memory_bytes / state.memory_bytes for state in states]
        power_w = sum(self.types[node.kind].idle_w for node in self.nodes if node.up)
        power_w += sum(watts for node in self.nodes for _, watts in self.powers(node))
        return load_row(now_s, pending, running, up, np.array(cpu), np.array(memory), power_w)

    def has_more_than(self, tasks: Sequence[PendingTask]) -> bool:
        """Return whether the nodes' total free resources exceed the requests of `tasks`."""
        up = [node for node in self.nodes if node.up]
        free = [self.free(node) for node in up]
        free_gpu = sum(sum(self.free_gpus(node)) for node in up)
        more_cpu = sum(one[0] for one in free) > sum(task.cpu_milli for task in tasks)
        enough_gpu = free_gpu >= sum(task.gpu_milli for task in tasks)
        more_memory = sum(one[2] for one in free) > sum(task.memory_bytes for task in tasks)
        return more_cpu and enough_gpu and more_memory

    def speed(self, job: SimulatedJob) -> float:
        """Return a running job's work per second."""
        assert job.here
        here = job.here
        return float(self.paces[job.task.job_class, here.node.kind, here.level]["speed"])

    def free(
        self, node: SimulatedNode, without: SimulatedJob | None = None
    ) -> tuple[int, int, int]:
        """Return the free CPU, the largest GPU demand with room, and the free memory.

        This is as if `without` had left.
        """
        node_type, gpus = self.types[node.kind], self.free_gpus(node, without)
        tasks = [place.job.task for place in node.places if place.job is not without]
        return (
            node_type.cpu_milli - sum(task.cpu_milli for task in tasks),
            max(gpus.count(WHOLE_GPU) * WHOLE_GPU, *gpus, 0),
            node_type.memory_bytes - sum(task.memory_bytes for task in tasks),
        )

    def free_gpus(self, node: SimulatedNode, without: SimulatedJob | None = None) -> list[int]:
        """Return the largest share with room on each GPU, as if `without` had left."""
        node_type = self.types[node.kind]
        free = [node_type.gpu_slices] * (node_type.gpu_milli // WHOLE_GPU)
        for place in node.places if free else ():
            if place.job is not without:
                of_each = min(place.job.task.gpu_milli, WHOLE_GPU) * node_type.gpu_slices
                for gpu in place.gpus:
                    free[gpu] -= math.ceil(of_each / WHOLE_GPU)
        return [slices * WHOLE_GPU // node_type.gpu_slices for slices in free]

    def place(self, job: SimulatedJob, placement: Placement, now_s: float) -> NodeShare:
        """Reserve a place with room for a job, and return it."""
        node = self.nodes[placement.node]
        level, gpus = self.level(node, placement.level), self._choose_gpus(node, job.task)
        node.places.append(NodeShare(job, node, level, now_s, gpus))
        return node.places[-1]

    def _choose_gpus(self, node: SimulatedNode, task: PendingTask) -> list[int]:
        """Return the GPUs that `task` takes on a node with room.

        A share takes the GPU with the least room for it; more takes the first whole ones.
        """
        free = self.free_gpus(node)
        if task.gpu_milli < WHOLE_GPU:
            room = [(share, gpu) for gpu, share in enumerate(free) if share >= task.gpu_milli]
            return [min(room)[1]] if task.gpu_milli > 0 else []
        whole = [gpu for gpu, share in enumerate(free) if share == WHOLE_GPU]
        return whole[: math.ceil(task.gpu_milli / WHOLE_GPU)]

    def state(
        self, node: SimulatedNode, task: PendingTask, without: SimulatedJob | None = None
    ) -> NodeState:
        """Return a node as a policy sees it for `task`."""
        node_type = self.types[node.kind]
        return NodeState(
            node.number,
            node.kind,
            node_type.cpu_milli,
            node_type.memory_bytes,
            *self.free(node, without),
            has_image=self.has_image(node, task),
        )

    def with_room(self, task: PendingTask, without: SimulatedJob | None = None) -> list[NodeState]:
        """Return the nodes with room, as if `without` had left."""
        own = without.here.node if without and without.here else None
        states = [
            self.state(node, task, without if node is own else None)
            for node in self.nodes
            if node.up
        ]
        return [state for state in states if self.takes(state, task)]

    def takes(self, state: NodeState, task: PendingTask) -> bool:
        """Return whether a task may run on a node, and has room there."""
        return bool(self.sites[task.job_class, state.node_type]["runs"]) and state.has_room(task)

    def has_image(self, node: SimulatedNode, task: PendingTask) -> bool:
        """Return whether a node holds the image of the task's class."""
        pull_s = self.sites[task.job_class, node.kind]["pull_s"]
        return bool(pull_s == 0) or task.job_class in node.images

    def level(self, node: SimulatedNode, level: int) -> int:
        """Return a level's number; negative ones count from the highest, -1."""
        return level + len(self.types[node.kind].levels) if level < 0 else level
