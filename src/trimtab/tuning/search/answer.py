"""Waiting for a companion while other trials go on: its answer is an event as those of trials."""

import math
import os
import threading
from collections.abc import Callable

from trimtab.tuning.score import Metrics
from trimtab.tuning.trials.events import Ended


class Answer:
    """What `ask` returns, which may wait, for a trial that `ended`: that is the event, once.

    `take` is called after it, `close` at any time, also while the answer is waited for.
    """

    def __init__(self, ended: Ended, ask: Callable[[], Metrics]) -> None:
        self._ended: Ended | None = ended
        self._found: Metrics | None = None
        self._error: BaseException | None = None
        self._has_come = threading.Event()
        self._closing, self._closed = threading.Lock(), False
        self._news_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        threading.Thread(target=self._wait, args=(ask,), name="answer", daemon=True).start()

    def pending(self) -> Ended | None:
        """Return how the trial ended, once, when the answer has come."""
        if not self._has_come.is_set():
            return None
        ended, self._ended = self._ended, None
        return ended

    def filenos(self) -> list[int]:
        """Return what becomes readable with the answer."""
        return [] if self._closed else [self._news_fd]

    @property
    def next_at(self) -> float:
        """Nothing happens by itself."""
        return math.inf

    def take(self) -> Metrics:
        """Return the answer that has come, or raise what `ask` raised."""
        self.close()
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return self._found

    def close(self) -> None:
        """Give back the descriptor."""
        with self._closing:
            if not self._closed:
                self._closed = True
                os.close(self._news_fd)

    def _wait(self, ask: Callable[[], Metrics]) -> None:
        try:
            self._found = ask()
        except BaseException as error:
            self._error = error
        self._has_come.set()
        with self._closing:
            if not self._closed:
                os.eventfd_write(self._news_fd, 1)
