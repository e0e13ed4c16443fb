"""How long a response may take to come, however the registry divides it."""

import http.client
import io
import socket
import time
from typing import Any

import urllib3

SLOWEST_BYTES_PER_S = 1 << 19


class _Reads(io.RawIOBase):
    """What a socket receives: a head by a time, a body with little waiting for its bytes."""

    def __init__(self, connection: socket.socket, raw: Any):
        self._connection, self._raw = connection, raw
        self._wait_s = connection.gettimeout() or 0.0
        self._until_s: float | None = time.monotonic() + self._wait_s
        self._left_s = self._wait_s

    def head_is_whole(self) -> None:
        """From now on, each byte gives a little more time."""
        self._until_s = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        began_s = time.monotonic()
        left_s = self._left_s if self._until_s is None else self._until_s - began_s
        if left_s <= 0:
            raise TimeoutError
        self._connection.settimeout(min(left_s, self._wait_s))
        count: int | None = self._raw.readinto(buffer)
        if self._until_s is None:
            self._left_s += (count or 0) / SLOWEST_BYTES_PER_S - (time.monotonic() - began_s)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response whose single bytes do not each have the whole time: that would be no limit."""

    def __init__(self, sock: socket.socket, *given: Any, **named: Any):
        super().__init__(sock, *given, **named)
        self._reads = _Reads(sock, self.fp.detach())
        self.fp = io.BufferedReader(self._reads)

    def begin(self) -> None:
        super().begin()
        self._reads.head_is_whole()


def pool_with_timeouts(**options: Any) -> Any:
    """Return a pool of connections whose responses come in time.

    A head comes within the time to read, and a body at SLOWEST_BYTES_PER_S on the whole.
    """
    pool = urllib3.PoolManager(**options)
    pool.pool_classes_by_scheme = {
        "http": _with_timeouts(urllib3.HTTPConnectionPool),
        "https": _with_timeouts(urllib3.HTTPSConnectionPool),
    }
    return pool


def _with_timeouts(pool: Any) -> type:
    connection = type("Connection", (pool.ConnectionCls,), {"response_class": _Response})
    return type("Pool", (pool,), {"ConnectionCls": connection})
