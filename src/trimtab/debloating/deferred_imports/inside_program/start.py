"""Watch the imports of a process: their order, who imports whom, and their effects."""

import atexit
import json
import os
import sys
import threading

from trimtab.debloating.deferred_imports.inside_program.effects import Effects, OwnDict, OwnList, skip

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_CALL = "_call_with_frames_removed"
_HARMLESS = (
    *("import", "compile", "exec", "marshal.", "object.__", "code.__new__", "sys._getframe"),
    *("builtins.id", "cpython.", "gc.", "sys.unraisablehook", "ctypes.", "function.__new__"),
    *("os.fwalk", "array.__new__", "sys._current", "re."),
)
_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")


class _Watch:
    def __init__(self, folder: str) -> None:
        self._folder, self._effects = folder, Effects()
        self._modules: list[dict[str, Any]] = OwnList()
        self._stack: list[dict[str, Any]] = OwnList()
        self._thread, self._busy = threading.get_ident(), False

    def top(self) -> str:
        return self._stack[-1]["name"] if self._stack else ""

    def note(self, effect: str) -> None:
        if self._stack and not self._busy:
            self._effects.note(self.top(), effect)

    def _settle(self) -> None:
        self._busy = True
        try:
            self._effects.settle(self.top())
        finally:
            self._busy = False

    def begins(self, name: str, file: str, space: "Any") -> None:
        self._settle()
        within = OwnList(each["name"] for each in self._stack)
        record = OwnDict(name=name, file=file, within=within, imports=OwnList(), failed=False)
        self._modules.append(record)
        self._stack.append(record)
        if space is not None:
            self._effects.own(name, space)
        if threading.get_ident() != self._thread:
            self.note("runs in a thread of its own")

    def ends(self, failed: bool) -> None:
        self._settle()
        record = self._stack.pop()
        record["failed"] = failed
        name = record["name"]
        module = sys.modules.get(name)
        if record["file"].endswith(".py") and (
            type(module) is not type(sys) or vars(module).get("__file__") != record["file"]
        ):
            self._effects.note(name, "replaces itself in sys.modules")

    def imported(self, names: "list[str]", star: "list[str] | None") -> None:
        if self._stack:
            self._stack[-1]["imports"].append(OwnList((OwnList(names), star and OwnList(star))))

    def write(self) -> None:
        self._busy = True
        for record in self._modules:
            record["effects"] = sorted(self._effects.of.get(record["name"], ()))
            record["bases"] = sorted(self._effects.bases.get(record["name"], ()))
        path = f"{self._folder}/{os.getpid()}.json"
        with open(path, "w") as file:
            json.dump(self._modules, file)


def start(folder: str) -> None:
    """Record this process's imports in `folder`; a forked process records nothing."""
    import builtins
    import importlib
    import random
    import time

    skip(_Watch)
    watch = _Watch(folder)
    process = os.getpid()
    bootstrap: Any = sys.modules["_frozen_importlib"]
    imp: Any = sys.modules["_imp"]
    call, plain_import, find = getattr(bootstrap, _CALL), builtins.__import__, bootstrap._gcd_import

    def calling(f: "Any", *args: "Any", **kwds: "Any") -> "Any":
        if f is exec and len(args) == 2:
            name, file, space = str(args[1].get("__name__")), args[0].co_filename, args[1]
        elif f is imp.create_dynamic:
            name, file, space = args[0].name, args[0].origin, None
        elif f is imp.exec_dynamic:
            name, file, space = args[0].__name__, args[0].__file__, vars(args[0])
        else:
            return call(f, *args, **kwds)
        watch.begins(name, file, space)
        failed = True
        try:
            result = call(f, *args, **kwds)
            failed = False
            return result
        finally:
            watch.ends(failed)

    def importing(name: "Any", space: "Any" = None, local: "Any" = None, fromlist: "Any" = (),
                  level: int = 0) -> "Any":  # fmt: skip
        result = plain_import(name, space, local, fromlist, level)
        full = name
        if level:
            package = bootstrap._calc___package__(space)
            full = bootstrap._resolve_name(name, package, level)
        names = [full, *(f"{full}.{each}" for each in fromlist or () if each != "*")]
        star = None
        if fromlist and "*" in fromlist:
            public = getattr(result, "__all__", None)
            star = [key for key in vars(result) if key[:1] != "_"] if public is None else public
        watch.imported([each for each in names if each in sys.modules], star and list(star))
        return result

    def finding(name: str, package: "Any" = None, level: int = 0) -> "Any":
        result = find(name, package, level)
        watch.imported([getattr(result, "__name__", name)], None)
        return result

    def audit(event: str, arguments: "Any") -> None:
        if watch._stack and not watch._busy and not event.startswith(_HARMLESS):
            frame = sys._getframe(1)
            if "importlib" in frame.f_code.co_filename:
                return
            if event == "open" and str(arguments[0]).endswith((".py", ".pyc", ".so")):
                return
            watch.note(event)

    def noting(function: "Any", effect: str) -> "Any":
        def noted(*args: "Any", **kwds: "Any") -> "Any":
            watch.note(effect)
            return function(*args, **kwds)

        noted.__name__, noted.__doc__ = function.__name__, function.__doc__
        return noted

    import warnings
    from _collections_abc import Mapping  # noqa: F401
    from abc import ABCMeta

    for name in ("__getitem__", "__iter__", "__len__"):
        kind: Any = type(os.environ)
        setattr(kind, name, noting(getattr(kind, name), "reads the environment"))
    for name in _CLOCKS:
        setattr(time, name, noting(getattr(time, name), "reads the time"))
    for name in ("random", "getrandbits", "randint", "choice", "shuffle", "seed"):
        setattr(random, name, noting(getattr(random, name), "draws at random"))
    warnings.warn = noting(warnings.warn, "warns")
    builtins.print = noting(builtins.print, "prints")
    ABCMeta.register = noting(ABCMeta.register, "registers a class")  # type: ignore[method-assign]
    setattr(bootstrap, _CALL, calling)
    builtins.__import__ = importing
    bootstrap._gcd_import = importlib._bootstrap._gcd_import = finding  # type: ignore[attr-defined]
    sys.addaudithook(audit)
    atexit.register(lambda: watch.write() if os.getpid() == process else None)
    watch._settle()
