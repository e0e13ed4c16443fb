"""A user's own Python functions as tasks: the decorator, and the graph of a run.

tasks = TaskRecorder()

@tasks.task(in_=["image"], out=["found"], secure=True, target="cpu")
def detect(image, found): ...

detect(image, found)
tasks.taskwait()
graph = tasks.graph()
"""

import inspect
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from trimtab.errors import UserError
from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.graph import TaskGraph

_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")
# Python may use one object for equal immutable values.
_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, frozenset, range)
_MOST_OVERLAP_STEPS = 100_000  # beyond it, two arrays count as overlapping


class TaskRecorder:
    """Runs decorated functions one after the other, and makes a graph of the calls.

    A call is a timed task. Its dependences follow from the objects that it reads and writes, as in
    OmpSs (Rocha's thesis, section 8.2). Overlapping views of NumPy arrays are the same data. A
    function's result counts as written by it, unless it is immutable (a number, a text): such
    values carry no dependence. A task called by another is a part of it. A call that raises is no
    task.
    """

    def __init__(self) -> None:
        self._builder = GraphBuilder()
        self._kept: list[Any] = []  # so that no other object gets their identities
        self._known: dict[Hashable, Any] = {}
        self._arrays: dict[int, list[Hashable]] = {}  # views by the array that owns their memory
        self._overlaps: dict[Hashable, set[Hashable]] = {}
        self._running = False

    def task(
        self,
        *,
        in_: Iterable[str] = (),
        out: Iterable[str] = (),
        inout: Iterable[str] = (),
        secure: bool = False,
        target: str | Sequence[str] = "cpu",
    ) -> Callable[[Callable[_Parameters, _Returned]], Callable[_Parameters, _Returned]]:
        """Return the decorator for a function that reads and writes these parameters.

        `in_` (`in` is a Python keyword), `out` and `inout` are names of parameters. Raises
        UserError for unknown parameters.
        """
        read, written = {*in_, *inout}, {*out, *inout}
        targets = (target,) if isinstance(target, str) else tuple(target)

        def decorate(
            function: Callable[_Parameters, _Returned],
        ) -> Callable[_Parameters, _Returned]:
            signature = inspect.signature(function)
            name = getattr(function, "__name__", "task")
            unknown = sorted((read | written) - set(signature.parameters))
            if unknown or not targets:
                has = ", ".join(signature.parameters) or "none"
                problem = f"no parameter {', '.join(unknown)}; it has: {has}"
                raise UserError(f"task {name}: {problem if unknown else 'target: names no device'}")

            @wraps(function)
            def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
                if self._running:
                    return function(*args, **kwargs)
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                reads = self._data(name, bound.arguments, read, False)
                writes = self._data(name, bound.arguments, written, True)
                self._running = True
                begun_s = time.perf_counter()
                try:
                    returned = function(*args, **kwargs)
                finally:
                    work_s = time.perf_counter() - begun_s
                    self._running = False
                if not isinstance(returned, _IMMUTABLE):
                    writes.append(self._key(returned))
                self._add(name, work_s, reads, writes, secure, targets)
                return returned

            return call

        return decorate

    def taskwait(self) -> None:
        """Make all later tasks wait for all earlier ones."""
        self._builder.barrier()

    def graph(self) -> TaskGraph:
        """Return the graph of the calls so far."""
        return self._builder.graph()

    def _add(
        self,
        name: str,
        work_s: float,
        reads: list[Hashable],
        writes: list[Hashable],
        secure: bool,
        targets: Sequence[str],
    ) -> None:
        sizes = {key: _bytes_of(self._known[key]) for key in {*reads, *writes}}
        self._builder.add(
            name,
            work_s,
            reads=reads,
            writes=writes,
            bytes_in=sum(sizes[key] for key in set(reads)),
            bytes_out=sum(sizes[key] for key in set(writes)),
            working_set_bytes=sum(sizes.values()),
            secure=secure,
            target=targets,
            overlaps=self._overlaps,
        )

    def _data(
        self, task: str, arguments: dict[str, Any], names: set[str], written: bool
    ) -> list[Hashable]:
        keys = []
        for name in sorted(names):
            value = arguments[name]
            if not isinstance(value, _IMMUTABLE):
                keys.append(self._key(value))
            elif written and value is not None:
                kind = type(value).__name__
                raise UserError(f"task {task}: {name}: {kind}, which no function can write into")
        return keys

    def _key(self, value: Any) -> Hashable:
        """Return a key of this object, or of this part of an array."""
        if not isinstance(value, np.ndarray):
            key: Hashable = id(value)
            if key not in self._known:
                self._kept.append(value)
                self._known[key] = value
                self._overlaps[key] = {key}
            return key
        key = (value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str)
        if key not in self._known:
            self._known[key] = value
            others = self._arrays.setdefault(_owner(value), [])
            self._overlaps[key] = {key}
            for other in others:
                if _overlap(value, self._known[other]):
                    self._overlaps[key].add(other)
                    self._overlaps[other].add(key)
            others.append(key)
        return key


def _owner(value: "np.ndarray[Any, Any]") -> int:
    """Return the identity of the object that owns a view's memory."""
    owner: Any = value
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return id(owner.obj if isinstance(owner, memoryview) else owner)


def _overlap(first: "np.ndarray[Any, Any]", second: "np.ndarray[Any, Any]") -> bool:
    try:
        return bool(np.shares_memory(first, second, max_work=_MOST_OVERLAP_STEPS))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _bytes_of(value: Any) -> int:
    size = getattr(value, "nbytes", None)
    return int(size) if isinstance(size, int) else sys.getsizeof(value)
