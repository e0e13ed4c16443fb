"""Builds a graph from tasks in order, by their reads and writes, as OmpSs does."""

from array import array
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UserError
from trimtab.secure_tasks.graphs.graph import MOST_TASKS, TaskGraph

BARRIER = "barrier"


@dataclass(slots=True)
class _Datum:
    """A datum's last writer, or -1, and its readers since."""

    writer: int = -1
    readers: list[int] = field(default_factory=list)


class GraphBuilder:
    """Makes a graph of tasks in the order of their submission.

    A task waits for the last writers of its inputs (read after write). It also waits for the
    writers and readers of its outputs (write after write, write after read).
    """

    def __init__(self) -> None:
        self._kinds: dict[str, int] = {}
        self._devices: dict[str, int] = {}
        # Compact arrays: a million tasks as objects would take gigabytes.
        self._kind, self._target, self._secure = array("q"), array("q"), array("b")
        self._work_s = array("d")
        self._bytes_in, self._bytes_out, self._touched = array("q"), array("q"), array("q")
        self._edges_from, self._edges_to = array("q"), array("q")
        self._data: dict[Hashable, _Datum] = {}
        self._barrier = -1
        self._ends: set[int] = set()  # tasks since the last barrier without successors

    def __len__(self) -> int:
        return len(self._kind)

    def add(
        self,
        kind: str,
        work_s: float,
        *,
        reads: Iterable[Hashable] = (),
        writes: Iterable[Hashable] = (),
        after: Iterable[int] = (),
        bytes_in: int = 0,
        bytes_out: int = 0,
        working_set_bytes: int | None = None,
        secure: bool = False,
        target: Iterable[str] = ("cpu",),
        overlaps: Mapping[Hashable, Set[Hashable]] | None = None,
    ) -> int:
        """Submit a task and return its number; updated data are in `reads` and in `writes`.

        `after` are numbers of further predecessors. The working set defaults to the bytes in and
        out. `overlaps` has, for a datum, the others that share memory with it. Raises UserError for
        more tasks than a graph holds.
        """
        number = len(self._kind)
        if number >= MOST_TASKS:
            raise UserError(f"more than {MOST_TASKS:,} tasks: a graph holds no more")
        read, written = set(reads), set(writes)
        waits_for = set(after)
        for key in read | written:
            for other in overlaps.get(key, {key}) if overlaps else (key,):
                datum = self._data.get(other)
                if datum is not None:
                    waits_for.add(datum.writer)
                    if key in written:
                        waits_for.update(datum.readers)
        waits_for.discard(-1)
        for key in written:
            self._data[key] = _Datum(writer=number)
        for key in read - written:
            self._data.setdefault(key, _Datum()).readers.append(number)
        if self._barrier >= 0 and max(waits_for, default=-1) < self._barrier:
            waits_for.add(self._barrier)
        self._append(number, kind, work_s, waits_for, target)
        self._bytes_in.append(bytes_in)
        self._bytes_out.append(bytes_out)
        both = bytes_in + bytes_out
        self._touched.append(both if working_set_bytes is None else working_set_bytes)
        self._secure.append(secure)
        return number

    def barrier(self) -> None:
        """Make all later tasks wait for all earlier ones: `taskwait`, a task of no time."""
        ends, self._data = self._ends, {}
        if ends:
            self._ends = set()
            self._barrier = self.add(BARRIER, 0.0, after=ends, target=())

    def graph(self) -> TaskGraph:
        """Return the graph of all tasks so far; raises UserError as TaskGraph does."""
        devices = tuple(self._devices) or ("cpu",)
        target = _numbers(self._target)
        target[target == 0] = (1 << len(devices)) - 1  # barriers run anywhere
        first, successors = successors_of(
            len(self), _numbers(self._edges_from), _numbers(self._edges_to)
        )
        return TaskGraph(
            tuple(self._kinds),
            devices,
            _numbers(self._kind),
            np.array(self._work_s, np.float64),
            _numbers(self._bytes_in),
            _numbers(self._bytes_out),
            _numbers(self._touched),
            np.array(self._secure, np.bool_),
            target,
            first,
            successors,
        )

    def _append(
        self, number: int, kind: str, work_s: float, waits_for: set[int], target: Iterable[str]
    ) -> None:
        self._kind.append(self._kinds.setdefault(kind, len(self._kinds)))
        self._work_s.append(work_s)
        bits = 0
        for device in target:
            bits |= 1 << self._devices.setdefault(device, len(self._devices))
        self._target.append(bits)
        self._edges_from.extend(waits_for)
        self._edges_to.extend([number] * len(waits_for))
        self._ends -= waits_for
        self._ends.add(number)


def successors_of(
    count: int, source: NDArray[np.int64], successor: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return edges between `count` tasks as `first_successor` and `successors` of a TaskGraph.

    Sources are 0 to count - 1; duplicate edges are merged.
    """
    order = np.lexsort((successor, source))
    source, successor = source[order], successor[order]
    if source.size:
        new = np.ones(source.size, np.bool_)
        new[1:] = (np.diff(source) != 0) | (np.diff(successor) != 0)
        source, successor = source[new], successor[new]
    first = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=count), out=first[1:])
    return first, successor


def _numbers(values: "array[Any]") -> NDArray[np.int64]:
    return np.array(values, np.int64)
