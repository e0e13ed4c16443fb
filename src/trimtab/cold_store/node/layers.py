"""Parts of a layer's text, inflated from the checkpoint before (zlib's examples/zran.c)."""

import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future

from trimtab.cold_store.index import ColdIndex, ColdLayer, DamagedIndexError
from trimtab.cold_store.node.priming import primed

Fetch = Callable[[int, int], bytes]  # the bytes of a blob from a place up to another
_PIECE_BYTES = 2 << 20  # of a blob at once
_PIECES_AHEAD = 4
_SLICE_BYTES = 1 << 14
_TEXT_BYTES = 1 << 18  # inflated at once
_MOST_SKIPPED_BYTES = 64 << 20
_MOST_OVERHEAD_BYTES = 16 << 20  # of blocks that inflate to nothing
_GZIP, _RAW = 16 + zlib.MAX_WBITS, -zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b\x08"
_TRAILER_BYTES = 8


class DamagedLayerError(ValueError):
    """A layer whose bytes do not inflate to what the index says."""


def text_of(
    index: ColdIndex, layer: ColdLayer, start: int, end: int, fetch: Fetch, pool: Executor
) -> Iterator[bytes]:
    """Yield the text of a layer from `start` up to `end`, exactly, in pieces.

    `pool` fetches a few pieces of the blob ahead. Raises DamagedLayerError or DamagedIndexError.
    """
    if layer.compression == "none":
        yield from _pieces(start, end, fetch, pool)
        return
    checkpoint = layer.checkpoint_before(start)
    skipped = start - checkpoint.uncompressed_offset
    if skipped > _MOST_SKIPPED_BYTES:
        raise DamagedIndexError(f"{layer.digest}: no checkpoint close to {start}")
    first = checkpoint.compressed_offset - (1 if checkpoint.bits else 0)
    most = 2 * (skipped + end - start) + _MOST_OVERHEAD_BYTES
    last = min(layer.compressed_end(end), first + most)
    pieces = _sliced(_pieces(first, last, fetch, pool))
    place = checkpoint.uncompressed_offset
    try:
        for text in _inflated(pieces, checkpoint.bits, index.window(checkpoint)):
            after = place + len(text)
            if after > start:
                yield text[max(0, start - place) : end - place]
            place = after
            if place >= end:
                return
    except zlib.error as error:
        raise DamagedLayerError(f"{layer.digest}: {error}") from None
    raise DamagedLayerError(f"{layer.digest}: it ends before byte {end} of its text")


def _pieces(start: int, end: int, fetch: Fetch, pool: Executor) -> Iterator[bytes]:
    """Yield the bytes of a blob from `start` up to `end`; the next are on their way."""
    piece_bytes = _PIECE_BYTES if end - start > 2 * _PIECE_BYTES else max(1, end - start)
    places = iter(range(start, end, piece_bytes))
    waiting: deque[Future[bytes]] = deque()
    try:
        while True:
            while len(waiting) < _PIECES_AHEAD and (place := next(places, None)) is not None:
                waiting.append(pool.submit(fetch, place, min(place + piece_bytes, end)))
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:
        for each in waiting:
            each.cancel()


def _sliced(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes in small pieces: what is left of one is copied at the end of each member."""
    for piece in pieces:
        for start in range(0, len(piece), _SLICE_BYTES):
            yield piece[start : start + _SLICE_BYTES]


def _inflated(pieces: Iterator[bytes], bits: int, window: bytes) -> Iterator[bytes]:
    """Yield the text of gzip members, the first of which begins with the top `bits` of a byte."""
    rest = _longer(b"", len(_MAGIC), pieces)
    if bits or not rest.startswith(_MAGIC):
        rest = yield from _rest_of_member(rest, pieces, bits, window)
    while rest.startswith(_MAGIC):
        stream = zlib.decompressobj(_GZIP)
        while rest and not stream.eof:
            yield from _all_of(stream, rest)
            rest = stream.unused_data if stream.eof else next(pieces, b"")
        rest = _longer(rest, len(_MAGIC), pieces)


def _rest_of_member(
    rest: bytes, pieces: Iterator[bytes], bits: int, window: bytes
) -> Generator[bytes, None, bytes]:
    """Yield the text up to a member's end; return what comes behind it, from a header on."""
    stream = zlib.decompressobj(_RAW, window)
    if bits and rest:
        rest = primed(rest[0], bits) + rest[1:]
    while rest and not stream.eof:
        yield from _all_of(stream, rest)
        rest = stream.unused_data if stream.eof else next(pieces, b"")
    return _longer(rest, _TRAILER_BYTES + len(_MAGIC), pieces)[_TRAILER_BYTES:]


def _longer(data: bytes, least_bytes: int, pieces: Iterator[bytes]) -> bytes:
    while len(data) < least_bytes and (more := next(pieces, b"")):
        data += more
    return data


def _all_of(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    while not stream.eof:
        text = stream.decompress(data, _TEXT_BYTES)
        yield text
        data = stream.unconsumed_tail
        if len(text) < _TEXT_BYTES and not data:
            return
