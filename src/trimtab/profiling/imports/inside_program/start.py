"""Start the record of a process, and write it however the process ends, short of a signal."""

import atexit
import os
import sys

from trimtab.profiling.imports.inside_program.call_counters import CallCounters
from trimtab.profiling.imports.inside_program.call_events import MonitoredCalls, ProfiledCalls
from trimtab.profiling.imports.inside_program.hooks import hook_imports
from trimtab.profiling.imports.inside_program.import_log import ImportLog

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_ENDS = ("_exit", "execv", "execve")  # `os` has its other ways to execute by these


def start(folder: str) -> None:
    """Record the imports of this process, and of those that it forks, in `folder`."""
    if not hasattr(sys, "addaudithook"):
        return  # before 3.8: the program may start such a Python, which must not notice
    calls = _calls()
    log = ImportLog(folder, calls)
    for name in _ENDS:
        setattr(os, name, _finishing(getattr(os, name), log))
    if isinstance(calls, ProfiledCalls):
        _follow_threads(calls)
    atexit.register(log.finish)  # the first one, which is called last
    os.register_at_fork(after_in_child=log.follow_fork)
    hook_imports(log)


def _finishing(function: "Any", log: "ImportLog") -> "Any":
    """Return a function of `os` that writes the record, and then ends this program."""

    def end(*arguments: "Any", **named: "Any") -> "Any":
        log.finish()
        return function(*arguments, **named)

    end.__name__ = end.__qualname__ = function.__name__
    end.__doc__ = function.__doc__
    return end


def _follow_threads(calls: "ProfiledCalls") -> None:
    def audit(event: str, arguments: "Any") -> None:
        if event == "_thread.start_new_thread":
            calls.follow_thread()

    sys.addaudithook(audit)


def _calls() -> "Any":
    """Return the cheapest way to know what runs that this Python has."""
    for kind in (MonitoredCalls, CallCounters):
        try:
            return kind()
        except (AttributeError, ImportError, ValueError):
            continue
    return ProfiledCalls()
