"""Waiting for several trials at once."""

import math
import select
import time
from collections.abc import Sequence
from typing import Protocol, TypeVar

from trimtab.tuning.trials.events import Event


class Awaited(Protocol):
    """A trial, of which it is asked what has happened, and what to wait for."""

    def pending(self) -> Event | None:
        """Return what has happened and was not told yet, or None; never waits."""
        ...

    def filenos(self) -> list[int]:
        """Return the descriptors that become readable when something may have happened."""
        ...

    @property
    def next_at(self) -> float:
        """The time, of time.monotonic, at which something happens by itself."""
        ...


Trial = TypeVar("Trial", bound=Awaited)


def next_events(
    trials: Sequence[Trial], timeout_s: float | None = None
) -> list[tuple[Trial, Event]]:
    """Wait until something happens to any of the trials; return at most one event of each.

    Empty when nothing has for `timeout_s`, without which it waits on, or all have ended before.
    """
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        events = [(trial, event) for trial in trials if (event := trial.pending()) is not None]
        now = time.monotonic()
        running = [trial for trial in trials if trial.filenos()]
        if events or now >= deadline or not running:
            return events
        poll = select.poll()
        for trial in running:
            for descriptor in trial.filenos():
                poll.register(descriptor, select.POLLIN)
        until = min(deadline, *(trial.next_at for trial in running))
        poll.poll(None if until == math.inf else math.ceil(max(0.0, until - now) * 1000))
