"""The progress of a long step of the workflow: finished runs, and the remaining time.

A job's output goes to its log. The workflow's shell, for every rule, keeps its own standard error
open for the job and passes its number; the job writes its progress there.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

CHANNEL = "TRIMTAB_PROGRESS"  # the descriptor to write to; no program of a workload gets it
_EVERY_S = 15.0


@contextmanager
def runs_to_do(
    what: str, total: int | None, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Report in the block how many of `total` runs are done; None for an unknown total.

    It reports at most every 15 seconds, so short steps report nothing.
    """
    began_s = told_s = clock()
    done, channel = 0, _channel()

    def tell() -> None:
        nonlocal done, told_s
        done += 1
        now_s = clock()
        if channel is None or now_s - told_s < _EVERY_S or done == total:
            return
        told_s = now_s
        with suppress(OSError):  # the reader is gone
            os.write(channel, f"{what}: {_so_far(done, total, now_s - began_s)}\n".encode())

    _telling.append(tell)
    try:
        yield
    finally:
        _telling.remove(tell)


def run_done() -> None:
    """Count a run of the innermost `runs_to_do`, if there is one."""
    if _telling:
        _telling[-1]()


@contextmanager
def telling(listener: Callable[[str], None]) -> Iterator[None]:
    """Call `listener` with messages for the user during the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(words: str) -> None:
    """Pass a line to the user: to the listener, or to the workflow's progress display."""
    if _listeners:
        _listeners[-1](words)
    elif (channel := _channel()) is not None:
        with suppress(OSError):  # the reader is gone
            os.write(channel, f"{words}\n".encode())


def _so_far(done: int, total: int | None, taken_s: float) -> str:
    if total is None or done > total:
        return f"{done} runs done in {_about(taken_s)}"
    left_s = taken_s / done * (total - done)
    return f"{done} of {total} runs done, about {_about(left_s)} left"


def _about(duration_s: float) -> str:
    if duration_s < 90:
        return f"{math.ceil(duration_s)} s"
    minutes = round(duration_s / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _channel() -> int | None:
    given = os.environ.pop(CHANNEL, None)
    if given is not None:
        _channels.append(int(given))
        os.set_inheritable(int(given), False)
    return _channels[-1] if _channels else None


_channels: list[int] = []
_listeners: list[Callable[[str], None]] = []
_telling: list[Callable[[], None]] = []
