"""Parts of a layer's text, decompressed from the checkpoint before.

Of gzip, that is within a stream (zlib's examples/zran.c); of zstd, the beginning of a frame.
"""

import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future

from trimtab.cold_store.index import (
    MOST_OVERHEAD_BYTES,
    MOST_SKIPPED_BYTES,
    ColdIndex,
    ColdLayer,
    DamagedIndexError,
)
from trimtab.cold_store.node.priming import primed
from trimtab.cold_store.node.zstd.decoder import TEXT_BYTES, DamagedFrameError
from trimtab.cold_store.node.zstd.decoders import frame_decoder
from trimtab.cold_store.node.zstd.frames import longer, most_frames_of, text_of_frames

Fetch = Callable[[int, int], bytes]  # the bytes of a blob from a place up to another
_PIECE_BYTES = 2 << 20  # of a blob at once
_PIECES_AHEAD = 4
_SLICE_BYTES = 1 << 14
_GZIP, _RAW = 16 + zlib.MAX_WBITS, -zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b\x08"
_TRAILER_BYTES = 8


class DamagedLayerError(ValueError):
    """A layer whose bytes do not decompress to what the index says."""


def text_of(
    index: ColdIndex, layer: ColdLayer, start: int, end: int, fetch: Fetch, pool: Executor
) -> Iterator[bytes]:
    """Yield the text of a layer from `start` up to `end`, exactly, in pieces.

    `pool` fetches a few pieces of the blob ahead. Raises DamagedLayerError, DamagedIndexError, or
    NoZstdError before anything is fetched.
    """
    if layer.compression == "none":
        yield from _pieces(start, end, fetch, pool)
        return
    checkpoint = layer.checkpoint_before(start)
    skipped = start - checkpoint.uncompressed_offset
    if skipped > MOST_SKIPPED_BYTES:
        raise DamagedIndexError(f"{layer.digest}: no checkpoint close to {start}")
    first = checkpoint.compressed_offset - (1 if checkpoint.bits else 0)
    text_bytes = skipped + end - start
    most = 2 * text_bytes + MOST_OVERHEAD_BYTES
    last = min(layer.compressed_end(end), first + most)
    pieces = _sliced(_pieces(first, last, fetch, pool))
    place = checkpoint.uncompressed_offset
    try:
        if layer.compression == "zstd":
            texts = text_of_frames(pieces, frame_decoder(), most_frames_of(text_bytes))
        else:
            texts = _inflated(pieces, checkpoint.bits, index.window(checkpoint))
        for text in texts:
            after = place + len(text)
            if after > start:
                yield text[max(0, start - place) : end - place]
            place = after
            if place >= end:
                return
    except (zlib.error, DamagedFrameError) as error:
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
    rest = longer(b"", len(_MAGIC), pieces)
    if bits or not rest.startswith(_MAGIC):
        rest = yield from _rest_of_member(rest, pieces, bits, window)
    while rest.startswith(_MAGIC):
        stream = zlib.decompressobj(_GZIP)
        while rest and not stream.eof:
            yield from _all_of(stream, rest)
            rest = stream.unused_data if stream.eof else next(pieces, b"")
        rest = longer(rest, len(_MAGIC), pieces)


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
    return longer(rest, _TRAILER_BYTES + len(_MAGIC), pieces)[_TRAILER_BYTES:]


def _all_of(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    while not stream.eof:
        text = stream.decompress(data, TEXT_BYTES)
        yield text
        data = stream.unconsumed_tail
        if len(text) < TEXT_BYTES and not data:
            return
