"""The same simulation in plain Python, to check the compiled one.

Lists of ready tasks are searched completely, and derived values are always recomputed. For graphs
of some hundred tasks.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.simulation.machine import EnclaveMachine

Choice = Callable[[int], "int | None"]


class ReferenceSimulation:
    """A graph on a machine under one of the policies of this package, by name."""

    def __init__(
        self,
        graph: TaskGraph,
        machine: EnclaveMachine,
        policy: str,
        unprotected_s: NDArray[np.float64],
        enclave_s: NDArray[np.float64],
    ) -> None:
        self.graph, self.machine, self.enclave = graph, machine, machine.enclave
        self.cost_s = np.where(graph.secure, enclave_s, unprotected_s).tolist()
        self.secure = graph.secure.tolist()
        self.kinds = [kind for kind in machine.workers for _ in range(kind.count)]
        self.now_s = 0.0
        self.waiting = graph.predecessor_counts().tolist()
        self.running: dict[int, tuple[float, int]] = {}  # worker -> end, task
        self.started: set[int] = set()
        self.rows: dict[int, tuple[float, float, int]] = {}
        self.queues: list[list[int]] = [[] for _ in self.kinds]
        self.successor: dict[int, int] = {}
        self.policy = policy
        self.choose: Choice = getattr(self, f"_{policy}")

    def run(self) -> list[tuple[float, float, int]]:
        """Return start, end and worker of each task."""
        for task in range(len(self.graph)):
            if not self.waiting[task]:
                self.queues[0].append(task)
        while True:
            for worker in range(len(self.kinds)):
                if worker not in self.running:
                    chosen = self.choose(worker)
                    if chosen is not None:
                        self._start(chosen, worker)
            if not self.running:
                return [self.rows[task] for task in range(len(self.graph))]
            worker = min(self.running, key=lambda number: (self.running[number][0], number))
            self.now_s, ended = self.running.pop(worker)
            for successor in self._successors(ended):
                self.waiting[successor] -= 1
                if not self.waiting[successor]:
                    self._release(successor, worker)

    def _successors(self, task: int) -> Iterator[int]:
        first = self.graph.first_successor
        yield from self.graph.successors[first[task] : first[task + 1]].tolist()

    def _release(self, task: int, worker: int) -> None:
        if self.policy == "work_first":
            self.queues[worker].append(task)
        elif (
            self.policy == "breadth_first"
            and worker not in self.successor
            and self._device_fits(task, worker)
        ):
            self.successor[worker] = task
        else:
            self.queues[0].append(task)

    def _inside(self) -> list[int]:
        return [task for _, task in self.running.values() if self.secure[task]]

    def _device_fits(self, task: int, worker: int) -> bool:
        graph, device = self.graph, self.kinds[worker].device
        return any(
            name == device and int(graph.target[task]) >> bit & 1
            for bit, name in enumerate(graph.devices)
        )

    def _may_run(self, task: int, worker: int) -> bool:
        room = not self.secure[task] or len(self._inside()) < self.enclave.thread_limit
        return room and self._device_fits(task, worker)

    def _paging_factor(self, task: int) -> float:
        sizes = self.graph.working_set_bytes
        inside_bytes = int(sum(int(sizes[other]) for other in [*self._inside(), task]))
        over_bytes = inside_bytes - self.enclave.page_cache_bytes
        if over_bytes <= 0:
            return 1.0
        return 1.0 + self.enclave.paging_slowdown * (over_bytes / inside_bytes)

    def _contention(self) -> float:
        factors = self.enclave.contention
        return factors[min(len(self._inside()), len(factors) - 1)]

    def _start(self, task: int, worker: int) -> None:
        duration_s = self.cost_s[task]
        if self.secure[task]:
            duration_s *= self._contention() * self._paging_factor(task)
        duration_s /= self.kinds[worker].speed
        self.started.add(task)
        self.running[worker] = (self.now_s + duration_s, task)
        self.rows[task] = (self.now_s, self.now_s + duration_s, worker)

    def _first(self, queue: list[int], worker: int) -> int | None:
        for task in queue:
            if self._may_run(task, worker):
                queue.remove(task)
                return task
        return None

    def _breadth_first(self, worker: int) -> int | None:
        if worker in self.successor:
            task = self.successor.pop(worker)
            if self._may_run(task, worker):
                return task
            self.queues[0].append(task)
        return self._first(self.queues[0], worker)

    def _work_first(self, worker: int) -> int | None:
        task = self._first(self.queues[worker], worker)
        for step in range(1, len(self.queues)):
            if task is None:
                queue = self.queues[(worker + step) % len(self.queues)]
                newest = queue[::-1]
                task = self._first(newest, worker)
                queue[:] = newest[::-1]
        return task

    def _path_s(self, task: int) -> float:
        longest_s = 0.0
        for successor in self._successors(task):
            longest_s = max(longest_s, self._path_s(successor))
        return float(longest_s + self.cost_s[task])

    def _left_over_places_s(self, target: int, secure: bool) -> float:
        """Return a class's seconds of unstarted tasks, divided by its places."""
        members = [
            task
            for task in range(len(self.graph))
            if self.graph.target[task] == target and self.secure[task] == secure
        ]
        speeds = [
            kind.speed
            for worker, kind in enumerate(self.kinds)
            if self._device_fits(members[0], worker)
        ]
        speeds = sorted(speeds, reverse=True)
        if secure:
            speeds = speeds[: self.enclave.thread_limit]
        left_s = sum(self.cost_s[task] for task in members if task not in self.started)
        return float(left_s / sum(speeds))

    def _enclave_aware(self, worker: int) -> int | None:
        best: tuple[float, float] | None = None
        found = None
        classes = sorted({(int(self.graph.target[t]), self.secure[t]) for t in self.queues[0]})
        for target, secure in classes:
            head = min(
                (
                    task
                    for task in self.queues[0]
                    if self.graph.target[task] == target and self.secure[task] == secure
                ),
                key=lambda task: (-self._path_s(task), task),
            )
            if not self._may_run(head, worker) or (secure and self._outside(head, worker)):
                continue
            path_s = self._path_s(head)
            score = (max(path_s, self._left_over_places_s(target, secure)), path_s)
            if best is None or score > best:
                best, found = score, head
        if found is not None:
            self.queues[0].remove(found)
        return found

    def _outside(self, task: int, worker: int) -> bool:
        paging = self._paging_factor(task) - 1.0
        if not self._inside() or paging == 0.0:
            return False
        ends_s = [end_s for end_s, other in self.running.values() if self.secure[other]]
        factor = self._contention() / self.kinds[worker].speed
        leaves_s = min(ends_s, default=math.inf)
        return bool(self.cost_s[task] * factor * paging > leaves_s - self.now_s)
