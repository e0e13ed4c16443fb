"""The server's log: lines on standard error, the same one once a minute."""

import sys
import threading
import time
from collections import OrderedDict

_SILENT_S = 60.0
_MOST_REMEMBERED = 256


class Log:
    """What was said lately, so that a loop of a container does not fill a disk. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said_s: OrderedDict[str, float] = OrderedDict()

    def say(self, text: str) -> None:
        """Write a line, unless it was written within the last minute."""
        now_s = time.monotonic()
        with self._lock:
            if now_s - self._said_s.get(text, -_SILENT_S) < _SILENT_S:
                return
            self._said_s[text] = now_s
            self._said_s.move_to_end(text)
            if len(self._said_s) > _MOST_REMEMBERED:
                self._said_s.popitem(last=False)
        print(f"trimtab cold-store: {text}", file=sys.stderr, flush=True)
