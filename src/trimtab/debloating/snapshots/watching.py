"""Note what Python code of a recorded program asks for; `inside_program.py` loads this."""

import os
import sys
import time

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_LIST_METHODS = (
    "__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__add__", "__repr__", "copy",
    "index", "count", "pop", "remove", "insert", "append", "extend", "__setitem__", "__delitem__",
    "clear", "reverse", "sort", "__reversed__", "__reduce_ex__", "__ne__", "__mul__", "__iadd__",
)  # fmt: skip


def watch_reads(notes: "Any") -> None:
    """Note which variables, arguments, folders and clocks Python code asks for."""

    views = {
        view.__iter__.__code__ for view in (type(os.environ.items()), type(os.environ.values()))
    }

    class Environment(type(os.environ)):  # type: ignore[misc]
        def __getitem__(self, key: "Any") -> "Any":
            # Whoever goes through all of them was noted when that began.
            if sys._getframe(1).f_code not in views:
                notes.note("asks " + os.fsdecode(key))
            return super().__getitem__(key)

        def __delitem__(self, key: "Any") -> "Any":
            notes.note("asks " + os.fsdecode(key))
            return super().__delitem__(key)

        def __iter__(self) -> "Any":
            notes.note("asks *")
            return super().__iter__()

        def __len__(self) -> "Any":
            notes.note("asks *")
            return super().__len__()

        def __repr__(self) -> "Any":
            notes.note("asks *")
            return super().__repr__()

    def noted(name: "str") -> "Any":
        method = getattr(list, name)

        def call(self: "Any", *arguments: "Any") -> "Any":
            # The first is the program.
            if name not in ("__getitem__", "__setitem__") or arguments[0] != 0:
                notes.note("arguments")
            return method(self, *arguments)

        return call

    def clocked(clock: "Any") -> "Any":
        def read() -> "Any":
            names = sys._getframe(1).f_globals
            notes.note_file(names)
            notes.note("clock " + str(names.get("__name__")))
            return clock()

        return read

    def listed(call: "Any") -> "Any":
        def read(path: "Any" = None) -> "Any":
            asker = sys._getframe(1).f_globals.get("__name__")
            if not isinstance(path, int):
                place = os.path.abspath("." if path is None else os.fsdecode(path))
                notes.note(f"lists {asker} {place}")
            return call(path)

        return read

    os.environ.__class__ = Environment
    if hasattr(os, "environb"):
        os.environb.__class__ = Environment
    texts = type("list", (list,), {name: noted(name) for name in _LIST_METHODS})
    sys.argv = texts(sys.argv)
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = texts(sys.orig_argv)
    os.listdir, os.scandir = listed(os.listdir), listed(os.scandir)
    for name in _CLOCKS:
        setattr(time, name, clocked(getattr(time, name)))
