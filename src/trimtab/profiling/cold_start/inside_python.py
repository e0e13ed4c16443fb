"""Record what Python does while a program starts; Python runs this as its `sitecustomize`.

The image's Python may be as old as 3.8. It writes lines of a word and a name to the file START_LOG,
each at most once a process. `called` names a module whose function was called outside imports,
`compiled` a file without byte code, `listed` a folder that was searched for modules.

It imports only modules that every Python has loaded by then: a slim image may have no others.
"""

import _thread
import os
import sys

MYPY = False  # true for type checkers only
if MYPY:
    from types import CodeType, FrameType
    from typing import Any

START_LOG = "TRIMTAB_START_LOG"
_LOOKS_FOR_MODULES = "<frozen importlib"


class _Watcher:
    def __init__(self, log: str) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND)
        self._told: set[str] = set()
        self._imports = _thread._local()
        self._importing: CodeType = sys.modules["_frozen_importlib"]._find_and_load.__code__
        frame: FrameType | None = sys._getframe()
        depth = 0  # this is imported itself
        while frame is not None:
            depth += frame.f_code is self._importing
            frame = frame.f_back
        self._imports.depth = depth

    def tell(self, word: str, name: str) -> None:
        """Write a line, if it is new and a single line."""
        line = f"{word} {name}\n"
        if line not in self._told and line.count("\n") == 1:
            self._told.add(line)
            os.write(self._log, line.encode(errors="surrogateescape"))

    def profile(self, frame: "FrameType", event: str, argument: "Any") -> None:
        """The function for sys.setprofile: note calls outside imports."""
        depth = getattr(self._imports, "depth", 0)
        if frame.f_code is self._importing:
            if event in ("call", "return"):
                self._imports.depth = depth + (1 if event == "call" else -1)
        elif depth:
            return
        elif event == "call" and frame.f_code.co_name != "<module>":
            self._called(frame.f_globals.get("__name__"))
        elif event == "c_call":
            self._called(getattr(argument, "__module__", None))
            self._called(type(getattr(argument, "__self__", None)).__module__)

    def _called(self, module: object) -> None:
        if isinstance(module, str):
            self.tell("called", module)

    def audit(self, event: str, arguments: "Any") -> None:
        """The hook for sys.audit: note imports, compiled files and listed folders."""
        if event == "compile" and isinstance(arguments[1], (str, bytes)):
            name = os.fsdecode(arguments[1])
            if name.endswith(".py"):
                self.tell("compiled", name)
        elif event == "os.listdir" and isinstance(arguments[0], str):
            asked_by = sys._getframe(1).f_code.co_filename
            if asked_by.startswith(_LOOKS_FOR_MODULES):
                self.tell("listed", arguments[0])
        elif event == "_thread.start_new_thread" and "threading" in sys.modules:
            sys.modules["threading"].setprofile(self.profile)


def watch(log: str) -> None:
    """Record to the file `log` from now on."""
    watcher = _Watcher(log)
    sys.setprofile(watcher.profile)
    sys.addaudithook(watcher.audit)


if __name__ == "sitecustomize" and START_LOG in os.environ:
    watch(os.environ[START_LOG])
