"""Objects of a store, made from layers in a registry; the next of a file are read ahead."""

import hashlib
import struct
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from io import FileIO

from trimtab.cold_store.index import ColdIndex, ColdObject
from trimtab.cold_store.node.allowed import IndexName
from trimtab.cold_store.node.cache import Cache
from trimtab.cold_store.node.flights import Flights
from trimtab.cold_store.node.layers import DamagedLayerError, text_of
from trimtab.cold_store.node.metrics import Metrics
from trimtab.cold_store.node.registries import Registries

# The format of an object: trimtab.debloating.store.
_MAGIC, _CHUNK_BYTES, _CHUNKS = b"TRIMTABO", 16_384, 64
_OFFSETS = struct.Struct(f"<{_CHUNKS + 1}I")
_HEAD_BYTES = len(_MAGIC) + _OFFSETS.size
_FIRST_AHEAD, _LEAST_AHEAD, _MOST_AHEAD = 2, 4, 32  # objects
_PASSES, _RANGES = 8, 16  # threads
_MOST_FOLLOWED = 1024  # files
_WAIT_S = 50
_ATTEMPTS = 3  # of a content that leaves the cache again before it is read


@dataclass(frozen=True)
class _Key:
    """An object as one image names it: a damaged layer of another image does not matter to it."""

    index: IndexName
    layer: str
    sha256: str


@dataclass
class _Lane:
    """The threads for one registry, so that a slow one delays no other; `pending` passes."""

    passes: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_PASSES, "pass"))
    ranges: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_RANGES, "range"))
    pending: int = 0


Data = bytes | FileIO
_Wanted = Sequence[tuple[_Key, ColdObject]]


@dataclass
class _Follow:
    """How a file is read: the `last` object, how many to read ahead, and up to which it `begun`."""

    last: int = -1
    ahead: int = 0
    begun: int = 0

    def ahead_of(self, number: int) -> int:
        """Return how many objects to read ahead: ever more while they are asked for in order.

        Clients that are a little behind the first one change nothing.
        """
        if number == self.last + 1:
            doubled = min(_MOST_AHEAD, max(_LEAST_AHEAD, 2 * self.ahead))
            self.last, self.ahead = number, doubled if number else _FIRST_AHEAD
        elif not self.last - _MOST_AHEAD <= number <= self.last:
            self.last, self.ahead, self.begun = number, 0, 0
        return self.ahead


class Objects:
    """The objects of all indexes, from the cache or, once for all who wait, from a registry.

    Every object is checked by the SHA-256 that its index names before it is kept or given.
    """

    def __init__(self, registries: Registries, cache: Cache, metrics: Metrics):
        self._registries, self._cache, self._metrics = registries, cache, metrics
        self._flights = Flights[_Key, bytes]()
        self._lanes: dict[str, _Lane] = defaultdict(_Lane)  # by host
        self._lock = threading.Lock()
        self._followed: OrderedDict[tuple[IndexName, str], _Follow] = OrderedDict()

    def get(self, name: IndexName, index: ColdIndex, asked: str) -> Data | None:
        """Return the data of an object, as an open file if the cache had it; None if not named.

        Raises RegistryError, DamagedLayerError, DamagedIndexError or TimeoutError.
        """
        if (found := index.find(asked)) is None:
            return None
        key = _Key(name, found.layer.digest, found.sha256)
        for _ in range(_ATTEMPTS):
            future = self._begun(key, index, asked)
            if future is not None:
                return future.result(_WAIT_S)
            if (file := self._cache.opened(key.sha256)) is not None:
                return file
        raise TimeoutError("the cache is too small for what is asked for at once")

    def close(self) -> None:
        """Begin nothing more."""
        for lane in self._lanes.values():
            for pool in (lane.passes, lane.ranges):
                pool.shutdown(wait=False, cancel_futures=True)

    def _begun(self, key: _Key, index: ColdIndex, asked: str) -> Future[bytes] | None:
        """Begin what is to be read now; return the future of an object that is not in the cache."""
        file, _, text = asked.rpartition("-")
        number = int(text)
        with self._lock:
            lane = self._lanes[key.index.host]
            follow = self._followed.setdefault((key.index, file), _Follow())
            self._followed.move_to_end((key.index, file))
            if len(self._followed) > _MOST_FOLLOWED:
                self._followed.popitem(last=False)
            ahead = follow.ahead_of(number)
            if follow.begun > number + ahead // 2 and self._cache.has(key.sha256):
                return None
        wanted = []
        for each in range(number, number + 1 + ahead):
            if (found := index.find(f"{file}-{each:06d}")) is None:
                break
            wanted.append((_Key(key.index, found.layer.digest, found.sha256), found))
        future, mine = self._flights.join(key, partial(self._planned, lane, wanted))
        run = [each for each in wanted if each[0] in mine]
        with self._lock:
            follow.begun = number + 1 + (wanted.index(run[-1]) if run else ahead // 2)
            lane.pending += bool(run)
        if run:
            lane.passes.submit(self._pass, lane, index, run)
        return future

    def _planned(
        self, lane: _Lane, wanted: _Wanted, is_flying: Callable[[_Key], bool]
    ) -> list[_Key]:
        """Return what to read in one pass: what is asked for, or objects ahead if that is soon."""

        def is_missing(key: _Key) -> bool:
            return not is_flying(key) and not self._cache.has(key.sha256)

        keys = [key for key, _ in wanted]
        begin = next((at for at, key in enumerate(keys) if is_missing(key)), len(keys))
        end = next((at for at in range(begin, len(keys)) if not is_missing(keys[at])), len(keys))
        is_busy = lane.pending >= _PASSES
        if begin and (is_busy or begin > len(keys) // 2):
            return []
        return keys[begin : 1 if is_busy else end]

    def _pass(self, lane: _Lane, index: ColdIndex, run: _Wanted) -> None:
        """Read objects that follow each other, in one pass of inflating."""
        done = 0
        try:
            (key, first), (_, last) = run[0], run[-1]
            fetch = partial(self._fetch, key.index, key.layer)
            end = last.offset + last.size_bytes
            pieces = text_of(index, first.layer, first.offset, end, fetch, lane.ranges)
            for data in _parts(pieces, (found.size_bytes for _, found in run)):
                key, _ = run[done]
                if hashlib.sha256(data).hexdigest() != key.sha256:
                    raise DamagedLayerError(f"{key.layer}: other contents than {key.index} names")
                self._cache.put(key.sha256, data)
                self._flights.land(key, data)
                done += 1
        except Exception as error:
            for key, _ in run[done:]:
                self._flights.fail(key, error)
        finally:
            with self._lock:
                lane.pending -= 1

    def _fetch(self, name: IndexName, digest: str, start: int, end: int) -> bytes:
        data = self._registries.ask(
            name.host, lambda registry: registry.blob_range(name.repository, digest, start, end)
        )
        self._metrics.fetched(len(data))
        return data


@lru_cache(64)
def head_of(size_bytes: int) -> bytes:
    """Return what precedes the data of an object of `size_bytes`, in chunks as they are."""
    ends = (min(size_bytes, _CHUNK_BYTES * each) for each in range(_CHUNKS + 1))
    return _MAGIC + _OFFSETS.pack(*(_HEAD_BYTES + end for end in ends))


def _parts(pieces: Iterable[bytes], sizes: Iterable[int]) -> Iterator[bytes]:
    """Yield the text in parts of these sizes, which together have its length."""
    text, rest = iter(pieces), b""
    for size in sizes:
        part: list[bytes] = []
        while size:
            piece = rest or next(text)
            part.append(piece[:size])
            rest = piece[size:]
            size -= len(part[-1])
        yield b"".join(part)
