"""Waiting for several trials at once, and for what else happens in a search."""

import math
import select
import time
from collections.abc import Sequence
from typing import Protocol, TypeVar

Happened = TypeVar("Happened")
Happened_co = TypeVar("Happened_co", covariant=True)


class Awaited(Protocol[Happened_co]):
    """A trial, or what else is asked what has happened, and what to wait for."""

    def pending(self) -> Happened_co | None:
        """Return what has happened and was not told yet, or None; never waits."""
        ...

    def filenos(self) -> list[int]:
        """Return the descriptors that become readable when something may have happened."""
        ...

    @property
    def next_at(self) -> float:
        """The time, of time.monotonic, at which something happens by itself."""
        ...


def next_events(
    awaited: Sequence[Awaited[Happened]], timeout_s: float | None = None
) -> list[tuple[Awaited[Happened], Happened]]:
    """Wait until something happens to any of what is awaited; return at most one event of each.

    Empty when nothing has for `timeout_s`, without which it waits on, or all have ended before.
    """
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        events = [(one, event) for one in awaited if (event := one.pending()) is not None]
        now = time.monotonic()
        running = [one for one in awaited if one.filenos()]
        if events or now >= deadline or not running:
            return events
        poll = select.poll()
        for one in running:
            for descriptor in one.filenos():
                poll.register(descriptor, select.POLLIN)
        until = min(deadline, *(one.next_at for one in running))
        poll.poll(None if until == math.inf else math.ceil(max(0.0, until - now) * 1000))
