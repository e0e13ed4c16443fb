"""What the server answers to each request."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from trimtab.cold_store.index import DamagedIndexError
from trimtab.cold_store.node.allowed import Allowed, IndexName
from trimtab.cold_store.node.cache import Cache
from trimtab.cold_store.node.damaged import DamagedIndexes
from trimtab.cold_store.node.indexes import Indexes
from trimtab.cold_store.node.layers import DamagedLayerError
from trimtab.cold_store.node.log import Log
from trimtab.cold_store.node.metrics import Metrics
from trimtab.cold_store.node.misses import MissesFile, piece_of
from trimtab.cold_store.node.objects import Data, Objects, head_of
from trimtab.cold_store.node.registries import Registries
from trimtab.cold_store.node.zstd.decoder import NoZstdError
from trimtab.cold_store.registry import RegistryError

_MOST_OF_A_HOST = 384  # of the server's connections


class Request(NamedTuple):
    """A request for `path`; the names of `headers` are in small letters."""

    path: str
    headers: dict[str, str]


class Response(NamedTuple):
    """A response of a media type, whose body has a head, and data or a file, which is closed."""

    status: int
    head: bytes
    data: Data = b""
    media_type: str = "text/plain; charset=utf-8"


class Store:
    """Objects for containers that name an index; `/healthz` and `/metrics` for who runs a node."""

    def __init__(
        self,
        registries: Registries,
        cache: Cache,
        allowed: Allowed,
        misses: MissesFile | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._cache, self._allowed, self._misses = cache, allowed, misses
        self._metrics = Metrics()
        self._log = Log()
        self._lock = threading.Lock()
        self._asking = Counter[str]()  # by host
        self._indexes = Indexes(registries, cache, self._metrics, DamagedIndexes(clock))
        self._objects = Objects(registries, cache, self._metrics)
        self.close = self._objects.close

    def answer(self, request: Request) -> Response:
        """Return the answer to a request for an object, or about the server."""
        if request.path in ("/healthz", "/metrics"):
            return self.answer_about_itself(request)
        began_s = time.monotonic()
        outcome, response, cache_bytes = self._object(request)
        self._metrics.answered(outcome, time.monotonic() - began_s, cache_bytes)
        if response.status in (403, 502):
            self._log.say(response.head.decode().rstrip("\n"))
        return response

    def answer_about_itself(self, request: Request) -> Response:
        """Return the counters, or that the server is well; 404 for any other path."""
        if request.path == "/metrics":
            return _said(200, self._metrics.text(self._cache.used_bytes).rstrip("\n"))
        return _said(200, "well") if request.path == "/healthz" else _said(404, "no such path")

    def _object(self, request: Request) -> tuple[str, Response, int]:
        try:
            index_name = IndexName.parse(request.headers.get("trimtab-index", ""))
            name = _object_name(request.path)
        except ValueError as error:
            return "malformed", _said(400, str(error)), 0
        if index_name not in self._allowed:
            return "refused", _said(403, f"{index_name}: the node allows other repositories"), 0
        self._metrics.missed(index_name)
        piece = piece_of(request.headers.get("trimtab-piece", ""))
        if piece is not None and self._misses is not None:
            self._misses.append(index_name, piece)
        try:
            with self._turn(index_name.host):
                found = self._objects.get(index_name, self._indexes.get(index_name), name)
        except (RegistryError, DamagedIndexError, DamagedLayerError, NoZstdError) as error:
            return "failed", _said(502, str(error)), 0
        except TimeoutError:
            return "failed", _said(502, f"{index_name.host}: no answer in time"), 0
        if found is None:
            return "unknown", _said(404, f"{index_name} has no {name}"), 0
        if isinstance(found, bytes):
            size_bytes, outcome, kept_bytes = len(found), "registry", 0
        else:
            size_bytes = os.fstat(found.fileno()).st_size
            outcome, kept_bytes = "cache", size_bytes
        response = Response(200, head_of(size_bytes), found, "application/octet-stream")
        return outcome, response, kept_bytes

    @contextmanager
    def _turn(self, host: str) -> Iterator[None]:
        """Leave connections to who asks for what other registries have."""
        with self._lock:
            if self._asking[host] >= _MOST_OF_A_HOST:
                raise RegistryError(f"{host}: too many requests wait for it")
            self._asking[host] += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking[host] -= 1


def _object_name(path: str) -> str:
    folder, _, name = path.removeprefix("/").partition("/")
    if not path.startswith("/") or len(folder) != 2 or not name.startswith(folder) or "/" in name:
        raise ValueError("no object; expected /XX/NAME")
    return name


def _said(status: int, text: str) -> Response:
    return Response(status, f"{text}\n".encode())
