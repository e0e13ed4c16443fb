"""gzip (RFC 1952) on all processors: one member, with the same bytes for any number of them.

Blocks of a fixed length are compressed separately. Each has the end of the previous one as its
dictionary and ends at a whole byte, as in pigz (Mark Adler, https://zlib.net/pigz/).
"""

import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from os import sched_getaffinity

_LEVEL = 6
_BLOCK_BYTES = 1 << 20
_DICTIONARY_BYTES = 1 << 15  # deflate's window
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"  # no name, no time, Unix
_WORKERS = len(sched_getaffinity(0))
_MOST_WAITING = 2 * _WORKERS  # blocks in memory


class ParallelGzip:
    """Compresses added data in threads; at most a few blocks wait in memory."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_WORKERS)  # starts threads when they are needed
        self._waiting: deque[Future[bytes]] = deque()
        self._block = bytearray()
        self._dictionary = b""
        self._head = _HEADER
        self._crc = self._bytes = 0

    def compress(self, data: bytes, /) -> bytes:
        """Add `data` and return the output that is ready."""
        self._crc = zlib.crc32(data, self._crc)
        self._bytes += len(data)
        self._block += data
        parts = [self._taken_head()]
        while len(self._block) >= _BLOCK_BYTES:
            self._begin(bytes(self._block[:_BLOCK_BYTES]), zlib.Z_SYNC_FLUSH)
            del self._block[:_BLOCK_BYTES]
            while len(self._waiting) > _MOST_WAITING or (self._waiting and self._waiting[0].done()):
                parts.append(self._waiting.popleft().result())
        return b"".join(parts)

    def flush(self) -> bytes:
        """Return the remaining output."""
        self._begin(bytes(self._block), zlib.Z_FINISH)
        parts = [self._taken_head(), *(each.result() for each in self._waiting)]
        self._pool.shutdown()
        parts += [number.to_bytes(4, "little") for number in (self._crc, self._bytes % (1 << 32))]
        return b"".join(parts)

    def _taken_head(self) -> bytes:
        head, self._head = self._head, b""
        return head

    def _begin(self, block: bytes, flush: int) -> None:
        self._waiting.append(self._pool.submit(_deflated, block, self._dictionary, flush))
        self._dictionary = block[-_DICTIONARY_BYTES:]


def _deflated(block: bytes, dictionary: bytes, flush: int) -> bytes:
    method, window = zlib.DEFLATED, -zlib.MAX_WBITS  # raw deflate without a header
    packing = zlib.compressobj(_LEVEL, method, window, zlib.DEF_MEM_LEVEL, 0, dictionary)
    return packing.compress(block) + packing.flush(flush)
