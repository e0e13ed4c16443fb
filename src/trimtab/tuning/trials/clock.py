"""The times of a trial's run: in its epochs, waiting for answers, and until we end it."""

import math
import time


class TrialClock:
    """The time that counts against the limit: all but that in which the program waits.

    A program that was told to end, or has to, gets at most `patience_s`.
    """

    def __init__(self, started_at: float, limit_s: float, patience_s: float) -> None:
        self.started_at = self.epoch_began_at = started_at
        self.limit_s, self.patience_s = limit_s, patience_s
        self.waiting_s = 0.0
        self._deadline_at = started_at + limit_s
        self._waiting_since: float | None = None
        self._has_to_end_at = math.inf

    @property
    def is_waiting(self) -> bool:
        """Whether the program waits for an answer."""
        return self._waiting_since is not None

    def epoch_ends(self, said_s: float) -> float:
        """Start the program's waiting time; return its epoch's duration.

        This is the program's own time, as its message may have waited for us, limited by our time.
        """
        self._waiting_since = time.monotonic()
        return min(said_s, self._waiting_since - self.epoch_began_at)

    def epoch_begins(self) -> None:
        """End the program's waiting time."""
        now = time.monotonic()
        if self._waiting_since is not None:
            self.waiting_s += now - self._waiting_since
            self._deadline_at += now - self._waiting_since
        self.epoch_began_at, self._waiting_since = now, None

    def has_to_end(self) -> None:
        """Start the grace period, unless it has started before."""
        self._has_to_end_at = min(self._has_to_end_at, time.monotonic() + self.patience_s)

    @property
    def patience_is_over(self) -> bool:
        """Whether the grace period of a program that has to end is over."""
        return time.monotonic() >= self._has_to_end_at

    @property
    def is_over(self) -> bool:
        """Whether the time limit has passed."""
        return not self.is_waiting and time.monotonic() >= self._deadline_at

    @property
    def next_at(self) -> float:
        """The earlier end of both times, by time.monotonic."""
        return min(math.inf if self.is_waiting else self._deadline_at, self._has_to_end_at)

    def since_start_s(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.started_at
