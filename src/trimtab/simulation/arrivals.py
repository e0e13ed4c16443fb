"""A part of a trace, checked, as the kernel's arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.clusters.compiled import compiled
from trimtab.clusters.round_times import service_times
from trimtab.errors import UserError
from trimtab.policies.layout import ARRIVAL, NIL, SHAPE, WHOLE_GPU
from trimtab.simulation.resampling import NOTHING, ServiceTimes

_COLUMNS = ("job", "arrival_s", "priority", "cpu_milli", "gpu_milli", "memory_bytes", "work_s")
# The errors that _pass_over may find: the column, and the expectation.
_WRONG = (
    ("arrival_s", "a time of at least 0, at most 2^53 s, no earlier than the job's before it"),
    ("work_s", "a time of at least 0, and at most 2^53 s"),
    ("job", "a number above the job's before it"),
    ("job_class", "one of the classes"),
    ("cpu_milli, gpu_milli, memory_bytes", "sizes of at least 0"),
)
_LATEST_S = 2.0**53
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_S32 = np.uint64(32)


@compiled
def _find(shapes: Any, count: int, table: Any, row: Any) -> tuple[int, int]:
    """Return the number of a shape, new or known, and the count of shapes."""
    mask = np.uint64(len(table) - 1)
    mixed = np.uint64(0)
    for number in row:
        mixed = (mixed ^ np.uint64(number)) * _MULTIPLIER
        mixed ^= mixed >> _S32
    at = mixed & mask
    while table[at] != NIL:
        shape = shapes[table[at]]
        if (shape.job_class, shape.priority, shape.cpu, shape.gpu, shape.memory) == row:
            return table[at], count
        at = (at + np.uint64(1)) & mask
    table[at] = count
    shape = shapes[count]
    shape.job_class, shape.priority, shape.cpu, shape.gpu, shape.memory = row
    shape.first = shape.last = NIL
    return count, count + 1


@compiled
def _find_all(shapes: Any, known: Any, table: Any) -> None:
    """Put the shapes `known` into an empty table; `shapes` is scratch space."""
    count = 0
    for shape in known:
        row = (shape.job_class, shape.priority, shape.cpu, shape.gpu, shape.memory)
        _, count = _find(shapes, count, table, row)


@compiled
def _pass_over(
    columns: Any,
    begin: int,
    last_job: int,
    last_arrival_s: float,
    shapes: Any,
    count: int,
    table: Any,
    chunk: Any,
    work_by_class: Any,
) -> tuple[int, int, int]:
    """Check the jobs from `begin`, number their shapes, and put them into `chunk`.

    Return the reached row, the number of shapes, and the error there: 0 for full tables, else the
    index in _WRONG, from 1.
    """
    job, arrival_s, work_s, dropped, job_class, priority, cpu, gpu, memory = columns
    for at in range(begin, len(chunk)):
        if count == len(shapes) or 2 * count >= len(table):
            return at, count, 0
        wrong = 0
        if not (arrival_s[at] >= last_arrival_s and arrival_s[at] <= _LATEST_S):
            wrong = 1
        elif not (work_s[at] >= 0.0 and work_s[at] <= _LATEST_S):
            wrong = 2
        elif job[at] <= last_job:
            wrong = 3
        elif job_class[at] < 0:
            wrong = 4
        elif cpu[at] < 0 or gpu[at] < 0 or memory[at] < 0:
            wrong = 5
        if wrong:
            return at, count, wrong
        last_job, last_arrival_s = job[at], arrival_s[at]
        held = work_by_class[job_class[at]]
        held[0] += cpu[at] * work_s[at]
        # More than a GPU is whole ones.
        whole = (gpu[at] + WHOLE_GPU - 1) // WHOLE_GPU * WHOLE_GPU
        held[1] += (gpu[at] if gpu[at] < WHOLE_GPU else whole) * work_s[at]
        held[2] += memory[at] * work_s[at]
        row = (job_class[at], priority[at], cpu[at], gpu[at], memory[at])
        number, count = _find(shapes, count, table, row)
        one = chunk[at]
        one.job, one.shape, one.arrival_s = job[at], number, arrival_s[at]
        one.work_s, one.dropped = work_s[at], dropped[at]
    return len(chunk), count, 0


@dataclass
class Arrivals:
    """Turns successive parts of a trace into chunks.

    `drop_ratio` is by job class, `seed` is for the rounds' times. `shapes` are the SHAPE records of
    the first `count` shapes. `work_by_class` [class, 3] sums the arrived work times what it holds
    meanwhile: thousandths of a core, thousandths of a GPU, bytes of memory. Evicted jobs may draw
    from `service_times`.
    """

    cluster: Cluster
    job_classes: Sequence[JobClass]
    drop_ratio: Mapping[str, float]
    seed: int
    shapes: NDArray[np.void] = field(default_factory=lambda: np.zeros(64, SHAPE))
    count: int = 0
    rows: int = 0
    last_job: int = -1
    first_arrival_s: float = 0.0
    last_arrival_s: float = 0.0
    service_times: ServiceTimes = NOTHING

    def __post_init__(self) -> None:
        self._names = [job_class.name for job_class in self.job_classes]
        self.work_by_class = np.zeros((len(self._names), 3))
        self._table = np.full(4 * len(self.shapes), NIL, np.int64)
        unknown = sorted(set(self.drop_ratio) - set(self._names))
        if unknown:
            raise UserError(f"drop_ratio: unknown job classes {unknown}")

    def chunk(self, frame: pd.DataFrame) -> NDArray[np.void]:
        """Return the rows of `frame` (tables.TRACE) as layout.ARRIVAL.

        Raises UserError with the job and its row in the trace: unknown class, negative or
        decreasing times, negative sizes or sizes that fit no node, no service time.
        """
        missing = [name for name in (*_COLUMNS, "job_class") if name not in frame]
        if missing:
            raise UserError(f"trace: columns {', '.join(missing)} are missing")
        jobs = _whole(frame, "job")
        arrival_s = np.ascontiguousarray(frame["arrival_s"], np.float64)
        codes = self._codes(frame)
        sizes = [_whole(frame, name) for name in _COLUMNS[2:6]]
        work_s, dropped = self._work(frame, jobs, codes, sizes[1])
        known, columns = self.count, (jobs, arrival_s, work_s, dropped, codes, *sizes)
        chunk = self._pass_over(frame, tuple(_frozen(column) for column in columns))
        self._check_room(known, chunk)
        if len(chunk):
            self.first_arrival_s = self.first_arrival_s if self.rows else float(arrival_s[0])
            self.last_job, self.last_arrival_s = int(jobs[-1]), float(arrival_s[-1])
        self.rows += len(chunk)
        return chunk

    def _where(self, jobs: Any, at: int) -> str:
        return f"trace: job {jobs[at]} (row {self.rows + at})"

    def _pass_over(self, frame: pd.DataFrame, columns: tuple[Any, ...]) -> NDArray[np.void]:
        jobs, arrival_s = columns[:2]
        chunk = np.empty(len(jobs), ARRIVAL)
        at, last_job, last_arrival_s = 0, self.last_job, self.last_arrival_s
        while at < len(jobs):
            at, self.count, wrong = _pass_over(
                columns,
                at,
                last_job,
                last_arrival_s,
                self.shapes,
                self.count,
                self._table,
                chunk,
                self.work_by_class,
            )
            if wrong:
                name, expected = _WRONG[wrong - 1]
                if name == "job_class":
                    expected = f"one of {', '.join(self._names)}"
                found = ", ".join(str(frame[part].iloc[at]) for part in name.split(", "))
                raise UserError(f"{self._where(jobs, at)}: {name}: {found}, expected {expected}")
            if at < len(jobs):
                self._grow()
                if at > 0:
                    last_job, last_arrival_s = int(jobs[at - 1]), float(arrival_s[at - 1])
        return chunk

    def _codes(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        column = frame["job_class"].astype("category")
        index = {name: number for number, name in enumerate(self._names)}
        known = [index.get(name, NIL) for name in column.cat.categories]
        codes = column.cat.codes.to_numpy()
        if known == list(range(len(known))):
            return codes.astype(np.int64)
        return np.array([*known, NIL], np.int64)[codes]  # no class: code -1, the last

    def _work(self, frame: Any, jobs: Any, codes: Any, cpu: Any) -> tuple[Any, Any]:
        work_s = np.ascontiguousarray(frame["work_s"], np.float64)
        dropped = np.zeros(len(jobs), np.int64)
        if "map_tasks" not in frame:
            return work_s, dropped
        maps, reduces = _whole(frame, "map_tasks"), _whole(frame, "reduce_tasks")
        for name, tasks in (("map_tasks", maps), ("reduce_tasks", reduces)):
            if (tasks < 0).any():
                at = int(np.argmax(tasks < 0))
                message = f"{name}: {tasks[at]}, expected at least 0"
                raise UserError(f"{self._where(jobs, at)}: {message}")
        of_rounds = (maps > 0) & np.isnan(work_s)
        if not of_rounds.any():
            return work_s, dropped
        work_s = work_s.copy()
        for number, job_class in enumerate(self.job_classes):
            rows = np.flatnonzero(of_rounds & (codes == number))
            if len(rows) == 0:
                continue
            if job_class.rounds is None:
                message = f"has map tasks and no work_s, but class {job_class.name!r} no rounds"
                raise UserError(f"{self._where(jobs, int(rows[0]))}: {message}")
            work_s[rows], dropped[rows] = service_times(
                job_class.rounds,
                self.seed,
                jobs[rows],
                maps[rows],
                reduces[rows],
                np.maximum(1, cpu[rows] // 1000),
                self.drop_ratio.get(job_class.name, 0.0),
            )
        if "size" in frame:
            work_s[of_rounds] *= frame["size"].to_numpy(np.float64)[of_rounds]
        return work_s, dropped

    def _grow(self) -> None:
        shapes = np.zeros(2 * len(self.shapes), SHAPE)
        shapes[: self.count] = self.shapes[: self.count]
        self.shapes = shapes
        self._table = np.full(4 * len(shapes), NIL, np.int64)
        _find_all(np.zeros(len(shapes), SHAPE), shapes[: self.count], self._table)

    def _check_room(self, known: int, chunk: Any) -> None:
        new = self.shapes[known : self.count]
        fits = np.zeros(len(new), bool)
        for node_type in self.cluster.node_types:
            runs = np.array([kind.runs_on(node_type.name) for kind in self.job_classes])
            fits |= (
                runs[new["job_class"]]
                & (new["cpu"] <= node_type.cpu_milli)
                & (new["gpu"] <= node_type.gpu_milli)
                & (new["memory"] <= node_type.memory_bytes)
            )
        if fits.all():
            return
        number = known + int(np.argmin(fits))
        shape = self.shapes[number]
        at = int(np.argmax(chunk["shape"] == number))
        asked = f"{shape['cpu']} mCPU, {shape['gpu']} mGPU, {shape['memory']} bytes"
        nodes = "any node of the cluster"
        if self.job_classes[shape["job_class"]].protection is not None:
            nodes += " with an enclave that it fits"
        message = f"asks for {asked}, more than {nodes} has"
        raise UserError(f"{self._where(chunk['job'], at)}: {message}")


def _whole(frame: pd.DataFrame, name: str) -> NDArray[np.int64]:
    column = frame[name]
    if column.dtype.kind not in "iu" and column.hasnans:
        raise UserError(f"trace: column {name} has missing values")
    return np.ascontiguousarray(column, np.int64)


def _frozen(column: NDArray[Any]) -> NDArray[Any]:
    # pandas decides whether a column is writable; compile only for read-only ones.
    view = column.view()
    view.flags.writeable = False
    return view
