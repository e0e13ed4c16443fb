"""A side task's answer, awaited while trials run: its arrival is an event like theirs."""

import math
import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from trimtab.tuning.trials.events import Answered

_Found = TypeVar("_Found")


class Future(Generic[_Found]):
    """The result of `ask`, called in a thread; its arrival is one event.

    Call `take` after the event, `close` at any time, even before it.
    """

    def __init__(self, ask: Callable[[], _Found]) -> None:
        self._was_told = False
        self._found: list[_Found] = []
        self._error: BaseException | None = None
        self._has_come = threading.Event()
        self._closing, self._closed = threading.Lock(), False
        self._news_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        threading.Thread(target=self._wait, args=(ask,), name="answer", daemon=True).start()

    def pending(self) -> Answered | None:
        """Return the event of the answer's arrival, once."""
        if self._was_told or not self._has_come.is_set():
            return None
        self._was_told = True
        return Answered()

    def filenos(self) -> list[int]:
        """Return the descriptor that becomes readable with the answer."""
        return [] if self._closed else [self._news_fd]

    @property
    def next_at(self) -> float:
        """No event is timed."""
        return math.inf

    def take(self) -> _Found:
        """Return the answer, or raise what `ask` raised."""
        self.close()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def close(self) -> None:
        """Close the descriptor."""
        with self._closing:
            if not self._closed:
                self._closed = True
                os.close(self._news_fd)

    def _wait(self, ask: Callable[[], _Found]) -> None:
        try:
            self._found.append(ask())
        except BaseException as error:
            self._error = error
        self._has_come.set()
        with self._closing:
            if not self._closed:
                os.eventfd_write(self._news_fd, 1)
