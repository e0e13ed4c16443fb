"""The indexes that containers name: checked by digest, and a few kept as they are read."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from trimtab.cold_store.index import MOST_INDEX_BYTES, ColdIndex, DamagedIndexError
from trimtab.cold_store.node.allowed import IndexName
from trimtab.cold_store.node.cache import Cache
from trimtab.cold_store.node.damaged import DamagedIndexes
from trimtab.cold_store.node.flights import Flights
from trimtab.cold_store.node.metrics import Metrics
from trimtab.cold_store.node.registries import Registries
from trimtab.cold_store.responses import OtherBytesError

_MOST_KEPT_BYTES = 256 << 20  # of memory
_AT_ONCE = 2  # are read of a registry: each takes memory
_WAIT_S = 50


class Indexes:
    """Indexes from memory, the cache or a registry, the recently used ones from memory.

    A damaged one is not read again for a minute.
    """

    def __init__(
        self, registries: Registries, cache: Cache, metrics: Metrics, damaged: DamagedIndexes
    ):
        self._registries, self._cache = registries, cache
        self._metrics, self._damaged = metrics, damaged
        self._flights = Flights[IndexName, ColdIndex]()
        self._lock = threading.Lock()
        self._parsing = threading.Lock()  # it takes several times as much
        self._reading: dict[str, threading.Semaphore] = {}  # by host: a slow one delays no other
        self._kept: OrderedDict[IndexName, ColdIndex] = OrderedDict()
        self._memory_bytes = 0

    def get(self, name: IndexName) -> ColdIndex:
        """Return an index. Raises RegistryError, DamagedIndexError, or TimeoutError."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        self._damaged.check(name)

        def planned(is_flying: Callable[[IndexName], bool]) -> Sequence[IndexName]:
            return () if is_flying(name) or name in self._kept else (name,)

        future, mine = self._flights.join(name, planned)
        if mine:
            self._read(name)
        return future.result(_WAIT_S) if future else self.get(name)

    def _read(self, name: IndexName) -> None:
        with self._lock:
            turn = self._reading.setdefault(name.host, threading.Semaphore(_AT_ONCE))
        try:
            with turn:
                index = self._parsed(name)
        except Exception as error:
            self._flights.fail(name, error)
            return
        with self._lock:
            self._kept[name] = index
            self._memory_bytes += index.memory_bytes
            while len(self._kept) > 1 and self._memory_bytes > _MOST_KEPT_BYTES:
                self._memory_bytes -= self._kept.popitem(last=False)[1].memory_bytes
        self._flights.land(name, index)

    def _parsed(self, name: IndexName) -> ColdIndex:
        sha256 = name.digest.removeprefix("sha256:")
        data = self._cached(sha256)
        try:
            if data is None:
                data = self._registries.ask(
                    name.host,
                    lambda registry: registry.blob(name.repository, name.digest, MOST_INDEX_BYTES),
                )
            with self._parsing:
                index = ColdIndex.parse(data)
        except (OtherBytesError, DamagedIndexError) as error:
            self._metrics.found_damaged()
            raise self._damaged.add(name, str(error)) from None
        self._cache.put(sha256, data)
        return index

    def _cached(self, sha256: str) -> bytes | None:
        """Return what the cache has, which the disk may have damaged since it was checked there."""
        file = self._cache.opened(sha256)
        if file is None:
            return None
        with file:
            data = file.read()
        if hashlib.sha256(data).hexdigest() == sha256:
            return data
        self._cache.remove(sha256)
        return None
