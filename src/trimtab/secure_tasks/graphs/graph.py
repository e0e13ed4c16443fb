"""The task graph: arrays with one value per task; a million tasks take tens of megabytes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trimtab.errors import UserError
from trimtab.secure_tasks.graphs.order import topological_order

MOST_TASKS = 1 << 22  # as many as the native programs record
MOST_EDGES = 1 << 26
MOST_DEVICES = 16
MOST_BYTES = 1 << 50  # of a task's data: sums over all tasks fit into 64 bits
MOST_WORK_S = 1e9
_SHOWN = 5  # tasks of a cycle


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks 0 to n - 1 and their dependences; checked at creation.

    `kinds` names the tasks' functions, `devices` the kinds of device they may run on. Arrays (n,),
    by task: `kind`, an index into `kinds`; `work_s`, its seconds outside an enclave on a device of
    speed 1; `bytes_in` and `bytes_out`, its input and output; `working_set_bytes`, its memory;
    `secure`, whether it runs inside an enclave; `target`, bit d set where it may run on
    `devices[d]`. Its successors are `successors[first_successor[task] : first_successor[task +
    1]]`, rising.

    Raises UserError with the task and the key for a wrong length, a negative or infinite cost, a
    value beyond this module's limits, a dangling number, or a cycle.
    """

    kinds: tuple[str, ...]
    devices: tuple[str, ...]
    kind: NDArray[np.int64]
    work_s: NDArray[np.float64]
    bytes_in: NDArray[np.int64]
    bytes_out: NDArray[np.int64]
    working_set_bytes: NDArray[np.int64]
    secure: NDArray[np.bool_]
    target: NDArray[np.int64]
    first_successor: NDArray[np.int64]
    successors: NDArray[np.int64]

    def __post_init__(self) -> None:
        count = len(self.kind)
        if count > MOST_TASKS or len(self.successors) > MOST_EDGES:
            limits = f"at most {MOST_TASKS:,} tasks and {MOST_EDGES:,} dependences are held"
            raise UserError(f"{count:,} tasks, {len(self.successors):,} dependences: {limits}")
        if not 1 <= len(self.devices) <= MOST_DEVICES:
            raise UserError(f"devices: {len(self.devices)} kinds, expected 1 to {MOST_DEVICES}")
        self._check_tasks(count)
        self._check_successors(count)

    def _check_tasks(self, count: int) -> None:
        most: dict[str, float] = {
            "kind": len(self.kinds) - 1,
            "work_s": MOST_WORK_S,
            "bytes_in": MOST_BYTES,
            "bytes_out": MOST_BYTES,
            "working_set_bytes": MOST_BYTES,
            "target": (1 << len(self.devices)) - 1,
        }
        for name in (*most, "secure"):
            if getattr(self, name).shape != (count,):
                shape = getattr(self, name).shape
                raise UserError(
                    f"{name}: shape {shape}, expected a value for each of {count} tasks"
                )
        for name, largest in most.items():
            values = getattr(self, name)
            least = 1 if name == "target" else 0
            wrong = np.flatnonzero(~((values >= least) & (values <= largest)))
            if wrong.size:
                expected = f"{least} to {largest:g}"
                raise UserError(
                    f"task {wrong[0]}: {name}: {values[wrong[0]]:g}, expected {expected}"
                )

    def _check_successors(self, count: int) -> None:
        first, successors = self.first_successor, self.successors
        if first.shape != (count + 1,) or first[0] != 0 or first[-1] != len(successors):
            raise UserError("first_successor: expected one number a task and one more, from 0")
        if np.any(np.diff(first) < 0):
            raise UserError("first_successor: expected numbers that never decrease")
        if successors.size and not 0 <= successors.min() <= successors.max() < count:
            at = int(np.flatnonzero((successors < 0) | (successors >= count))[0])
            task = int(np.searchsorted(first, at, "right")) - 1
            raise UserError(
                f"task {task}: successor {successors[at]}: there are tasks 0 to {count - 1} only"
            )
        if len(self.order()) < count:
            raise UserError(f"tasks that wait for each other: {self._a_circle()}")

    def _a_circle(self) -> str:
        count = len(self.kind)
        ones = np.ones(len(self.successors), np.int8)
        graph = csr_array((ones, self.successors, self.first_successor), (count, count))
        component = connected_components(graph, connection="strong")[1]
        sources = np.repeat(np.arange(count), np.diff(self.first_successor))
        inside = sources[component[sources] == component[self.successors]]
        members = np.flatnonzero(component == component[inside[0]])
        more = ", ..." if members.size > _SHOWN else ""
        return ", ".join(map(str, members[:_SHOWN])) + more

    def __len__(self) -> int:
        return len(self.kind)

    def predecessor_counts(self) -> NDArray[np.int64]:
        """Return the number of predecessors of each task, (n,)."""
        counts = np.bincount(self.successors, minlength=len(self))
        return np.asarray(counts, np.int64)

    def order(self) -> NDArray[np.int64]:
        """Return the tasks in topological order; tasks of a cycle are left out."""
        return topological_order(self.first_successor, self.successors, self.predecessor_counts())
