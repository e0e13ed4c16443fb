"""The server's log: lines on standard error, the same one once a minute, and only so many."""

import sys
import threading
import time
from collections import OrderedDict

_SILENT_S = 60.0
_MOST_LINES = 256  # in that time, as a container can have each be another


class Log:
    """What was said lately, so that a loop of a container does not fill a disk. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said_s: OrderedDict[str, float] = OrderedDict()

    def say(self, text: str) -> None:
        """Write a line, unless it was written within the last minute, or too many were."""
        now_s = time.monotonic()
        with self._lock:
            while self._said_s and now_s - next(iter(self._said_s.values())) >= _SILENT_S:
                self._said_s.popitem(last=False)
            if text in self._said_s or len(self._said_s) >= _MOST_LINES:
                return
            self._said_s[text] = now_s
        print(f"trimtab cold-store: {text}", file=sys.stderr, flush=True)
