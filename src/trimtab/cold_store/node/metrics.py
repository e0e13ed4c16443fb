"""Counters of the server, in Prometheus' text format."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from trimtab.cold_store.node.allowed import IndexName

_BOUNDS_S = (0.005, 0.02, 0.06, 0.2, 0.5, 2.0, 10.0)
_MOST_INDEXES = 200  # with a line of their own
_OTHERS = "others"


class Metrics:
    """What the server did since it began. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes = Counter[str]()
        self._misses = Counter[str]()
        self._bytes = Counter[str]({"registry": 0, "cache": 0})
        self._ranges = self._damaged = 0
        self._buckets = [0] * (len(_BOUNDS_S) + 1)
        self._seconds = 0.0

    def fetched(self, size_bytes: int) -> None:
        """Count bytes of layers that came from a registry, in one answer."""
        with self._lock:
            self._bytes["registry"] += size_bytes
            self._ranges += 1

    def missed(self, index: IndexName) -> None:
        """Count an object that a container of an image asked for."""
        label = str(index)
        with self._lock:
            is_new = label not in self._misses and len(self._misses) >= _MOST_INDEXES
            self._misses[_OTHERS if is_new else label] += 1

    def found_damaged(self) -> None:
        """Count an index that was read and was damaged."""
        with self._lock:
            self._damaged += 1

    def answered(self, outcome: str, wall_s: float, cache_bytes: int = 0) -> None:
        """Count a request by its outcome, which is one of a few words."""
        with self._lock:
            self._outcomes[outcome] += 1
            self._bytes["cache"] += cache_bytes
            self._buckets[bisect_left(_BOUNDS_S, wall_s)] += 1
            self._seconds += wall_s

    def text(self, cache_bytes: int) -> str:
        """Return all counters, and the bytes that the cache uses."""
        with self._lock:
            return "\n".join((*self._lines(cache_bytes), ""))

    def _lines(self, cache_bytes: int) -> Iterator[str]:
        yield from _family("requests_total", "counter", "Requests by outcome.")
        yield from _by_label("requests_total", "outcome", self._outcomes)
        yield from _family("misses_total", "counter", "Objects asked for, by index of an image.")
        yield from _by_label("misses_total", "index", self._misses)
        yield from _family(
            "bytes_total", "counter", "Bytes by source; of layers, as they are sent."
        )
        yield from _by_label("bytes_total", "source", self._bytes)
        yield from _family("registry_ranges_total", "counter", "Parts of layers from registries.")
        yield f"trimtab_cold_store_registry_ranges_total {self._ranges}"
        yield from _family("damaged_indexes_total", "counter", "Indexes read that were damaged.")
        yield f"trimtab_cold_store_damaged_indexes_total {self._damaged}"
        yield from _family("cache_bytes", "gauge", "Bytes that the cache uses of the disk.")
        yield f"trimtab_cold_store_cache_bytes {cache_bytes}"
        yield from _family("seconds", "histogram", "Seconds from a request to its answer.")
        so_far = 0
        for bound, count in zip((*_BOUNDS_S, "+Inf"), self._buckets, strict=True):
            so_far += count
            yield f'trimtab_cold_store_seconds_bucket{{le="{bound}"}} {so_far}'
        yield f"trimtab_cold_store_seconds_sum {self._seconds:.6f}"
        yield f"trimtab_cold_store_seconds_count {so_far}"


def _family(name: str, kind: str, said: str) -> tuple[str, str]:
    return f"# HELP trimtab_cold_store_{name} {said}", f"# TYPE trimtab_cold_store_{name} {kind}"


def _by_label(name: str, label: str, counts: Counter[str]) -> Iterator[str]:
    for value, count in sorted(counts.items()):
        yield f'trimtab_cold_store_{name}{{{label}="{value}"}} {count}'
