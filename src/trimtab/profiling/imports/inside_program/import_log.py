"""Write the imports of a process to a file: their time, their memory, and who asked for them.

A line is a tuple of texts and numbers, as `ascii` writes it. The file is opened for each write: a
program may close every descriptor that it does not know.
"""

import _thread
import os
import sys
import time

from trimtab.profiling.imports.inside_program.call_counters import unseen_module

MYPY = False  # true for type checkers only
if MYPY:
    from types import CodeType
    from typing import Any

_STATM = "/proc/self/statm"
_FIRST, _NUMBERS = 1000, 20  # numbers that no program expects its own descriptors to have
_CHILD_OF_NONE = -1
_SHORT_NS = 100_000  # within which memory is not read again
_now_ns = time.perf_counter_ns


class _Import:
    """An import that has begun."""

    __slots__ = ("began_ns", "file", "importer", "kind", "memory", "name", "number")

    def __init__(self, number: int, name: str, importer: str, stack: "list[_Import]") -> None:
        self.number, self.name, self.importer = number, name, importer
        self.kind = self.file = ""
        self.memory = self.began_ns = 0
        stack.append(self)


class ImportLog:
    """The log of one process in a folder; `calls` tells which functions ran."""

    def __init__(self, folder: str, calls: "Any") -> None:
        self._folder, self._calls = folder, calls
        self._threads = _thread._local()
        self._collector = unseen_module("gc")
        self._number = self._read_at_ns = 0
        self._memory, self._main = 0, ""
        self._open("")

    def _open(self, forked_from: str) -> None:
        self.name = f"{os.getpid()}-{time.time_ns()}"
        self._lines: list[str] = []  # no tuples, for which Python would collect garbage earlier
        try:
            self._statm = _open_out_of_the_way(_STATM)
        except OSError:
            self._statm = -1
        try:
            with open("/proc/self/cmdline", "rb", 0) as file:
                command = file.read()
        except OSError:
            command = b""
        version = ".".join(map(str, sys.version_info[:3]))
        words = command.decode("utf-8", "surrogateescape").split("\0")[:-1]
        method = self._calls.method
        line = ("process", forked_from, version, method, sys.executable, *words)
        self._lines.append(f"{line!a}\n")

    def follow_fork(self) -> None:
        """Go on in a forked process, with a file of its own."""
        self._open(self.name)

    def begin(self, name: str, importer: str) -> "_Import":
        """Begin an import in this thread."""
        self._number += 1
        begun = _Import(self._number, name, importer, self._stack())
        now_ns = begun.began_ns = _now_ns()
        if now_ns - self._read_at_ns > _SHORT_NS:
            self._memory, self._read_at_ns = self._read_memory(), now_ns
        begun.memory = self._memory
        return begun

    def end(self, begun: "_Import", failed: bool) -> None:
        """End an import, and write what has ended if no other one is left."""
        ended_ns = _now_ns()
        if ended_ns - self._read_at_ns > _SHORT_NS:
            self._memory, self._read_at_ns = self._read_memory(), ended_ns
        stack = self._stack()
        while stack and stack.pop() is not begun:
            pass  # ended without notice
        kind = "failed" if failed else begun.kind or _kind_of(begun.name)
        above = stack[-1].number if stack else _CHILD_OF_NONE
        self._lines.append(
            f"('import', {begun.number}, {above}, {begun.name!a}, {begun.importer!a}, {kind!a},"
            f" {begun.file!a}, {begun.began_ns}, {ended_ns}, {begun.memory}, {self._memory})\n"
        )
        if not stack:
            self._find_main()
            self._write()

    def body_begins(self, code: "CodeType", space: "Any") -> "_Import | None":
        """Begin a module's body; returns an import of its own for one that nobody imports.

        That is a module that a lazy loader loads, or one that is loaded again.
        """
        name = space.get("__name__")
        stack = self._stack()
        begun = stack[-1] if stack else None
        alone = None
        if begun is None or begun.name != name or begun.kind:
            begun = alone = self.begin(name if type(name) is str else "", "")
        begun.kind, begun.file = "python", code.co_filename
        self._calls.begin(code)
        return alone

    def body_ends(self, code: "CodeType", alone: "_Import | None", failed: bool) -> None:
        """End what `body_begins` began."""
        self._calls.end(code)
        if alone is not None:
            self.end(alone, failed)

    def created(self, kind: str, spec: "Any") -> None:
        """Take note that the import that runs makes a module that is no Python code."""
        stack = self._stack()
        if stack and stack[-1].name == spec.name:
            stack[-1].kind = kind
            if type(spec.origin) is str:
                stack[-1].file = spec.origin

    def finish(self) -> None:
        """Write everything, and which functions ran; the process may go on and do so again."""
        collects = self._collector.isenabled()
        self._collector.disable()  # many sets follow, and none can be collected
        try:
            for place, (number, names) in self._calls.ran().items():
                if number:
                    self._lines.append(f"{('ran', place, number, ' '.join(names))!a}\n")
        finally:
            if collects:
                self._collector.enable()
        self._find_main()
        self._lines.append(f"{('end', self._main)!a}\n")
        self._write()

    def _find_main(self) -> None:
        """Note the file of the main program, which Python forgets before it calls `finish`."""
        if not self._main:
            main = getattr(sys.modules.get("__main__"), "__file__", None)
            self._main = main if type(main) is str else ""

    def _stack(self) -> "list[_Import]":
        try:
            stack: list[_Import] = self._threads.stack
        except AttributeError:
            stack = self._threads.stack = []
        return stack

    def _read_memory(self) -> int:
        """Return the pages of resident memory that are no pages of files (proc_pid_statm(5))."""
        try:
            _, resident, shared, _ = os.pread(self._statm, 100, 0).split(b" ", 3)
            return int(resident) - int(shared)
        except (OSError, ValueError):  # the program closed it
            return 0

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        try:
            path = self._folder + "/" + self.name
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                data = "".join(lines).encode("ascii")
                while data:
                    data = data[os.write(file, data) :]
            finally:
                os.close(file)
        except OSError:
            pass  # the program must not notice


def _open_out_of_the_way(path: str) -> int:
    """Open a file for reading, where possible under a number that shifts none of the program's.

    Raises OSError if it cannot be opened.
    """
    file = os.open(path, os.O_RDONLY)
    for number in range(_FIRST, _FIRST + _NUMBERS):
        try:
            os.fstat(number)
        except OSError:
            try:
                os.dup2(file, number, False)
            except OSError:  # beyond the limit of open files
                break
            os.close(file)
            return number
    return file


def _kind_of(name: str) -> str:
    """Return the kind of a module that ran no code; a lazy one must not notice."""
    try:
        space = object.__getattribute__(sys.modules[name], "__dict__")
        path = dict.get(space, "__path__")
    except Exception:
        return "other"
    return "namespace" if type(path).__name__ == "_NamespacePath" else "other"
