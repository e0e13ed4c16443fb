"""Indexes that were damaged when they were last read, so that nobody reads them again at once."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from trimtab.cold_store.index import DamagedIndexError
from trimtab.cold_store.node.allowed import IndexName

_LEFT_ALONE_S = 60.0
_MOST_REMEMBERED = 1024


class DamagedIndexes:
    """What is wrong with indexes, for a minute after they were read. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lock = threading.Lock()
        self._found: OrderedDict[IndexName, tuple[float, str]] = OrderedDict()

    def add(self, name: IndexName, why: str) -> DamagedIndexError:
        """Remember what is wrong with an index; return the error that says so."""
        said = f"{name}: the index cannot be used: {why}; it is read again in a minute"
        with self._lock:
            self._found[name] = self._clock() + _LEFT_ALONE_S, said
            self._found.move_to_end(name)
            if len(self._found) > _MOST_REMEMBERED:
                self._found.popitem(last=False)
        return DamagedIndexError(said)

    def check(self, name: IndexName) -> None:
        """Raise DamagedIndexError for an index that was damaged within the last minute."""
        with self._lock:
            until_s, said = self._found.get(name, (0.0, ""))
        if self._clock() < until_s:
            raise DamagedIndexError(said)
