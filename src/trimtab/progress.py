"""How far a long step of the workflow is: runs done of runs to do, and the time that is left.

What a job writes goes to its log. Where the workflow's shell keeps its own standard error open for
the job and names it, as it does for every rule, the job tells there how far it is.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

CHANNEL = "TRIMTAB_PROGRESS"  # the descriptor to write to; no program of a workload sees it
_EVERY_S = 15.0


@contextmanager
def runs_to_do(
    what: str, total: int | None, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Tell in the block how many of `total` runs are done, where None says that nobody knows.

    It tells every 15 seconds at most, so that steps that are short tell nothing.
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
        with suppress(OSError):  # nobody reads it any more
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
    """Have `listener` called in the block with what a person should know while a step goes on."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(words: str) -> None:
    """Tell a person in one line: by who listens, or where the workflow shows how far a job is."""
    if _listeners:
        _listeners[-1](words)
    elif (channel := _channel()) is not None:
        with suppress(OSError):  # nobody reads it any more
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
