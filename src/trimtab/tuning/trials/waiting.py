"""Waiting for several trials and other events of a search at once."""

import math
import select
import time
from collections.abc import Sequence
from typing import Protocol, TypeVar

Happened = TypeVar("Happened")
Happened_co = TypeVar("Happened_co", covariant=True)


class Awaited(Protocol[Happened_co]):
    """A source of events: a trial or an answer, with descriptors to wait for."""

    def pending(self) -> Happened_co | None:
        """Return the next unreported event, or None; never waits."""
        ...

    def filenos(self) -> list[int]:
        """Return the descriptors that become readable when there may be an event."""
        ...

    @property
    def next_at(self) -> float:
        """The time, by time.monotonic, of the next timed event."""
        ...


def next_events(
    awaited: Sequence[Awaited[Happened]], timeout_s: float | None = None
) -> list[tuple[Awaited[Happened], Happened]]:
    """Wait for events of `awaited`; return at most one of each.

    Empty when there is none within `timeout_s`, by default unlimited, or all have ended before.
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
