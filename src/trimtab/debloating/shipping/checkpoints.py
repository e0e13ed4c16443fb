"""Checkpoints in a gzip file, from which parts of it can be inflated."""

import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from trimtab.cold_store.index import Checkpoint

SPACING_BYTES = 2 << 20  # of text between checkpoints: closer ones make the index larger
_WINDOW_BYTES = 1 << 15
# The export format of indexed_gzip 1.10 (zran.c, zran_export_index).
_HEAD, _POINT = struct.Struct("<5sBBQQIII"), struct.Struct("<QQBB")
_MAGIC = b"GZIDX"


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a compressed layer in order, each with its window, a raw deflate stream.

    The offset of the window in each is 0: the caller places it. The layer has `text_bytes`,
    uncompressed.
    """

    text_bytes: int
    points: tuple[tuple[Checkpoint, bytes], ...]


def gzip_checkpoints(path: Path) -> Checkpoints:
    """Return the checkpoints of the gzip file at `path`, SPACING_BYTES of text apart."""
    import indexed_gzip  # optional, and only for pushing

    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        exported = Path(folder, "index")
        with indexed_gzip.IndexedGzipFile(
            str(path), spacing=SPACING_BYTES, window_size=_WINDOW_BYTES
        ) as file:
            file.build_full_index()
            file.export_index(str(exported))
        data = exported.read_bytes()
    return _parsed(data)


def _parsed(data: bytes) -> Checkpoints:
    magic, version, _, _, text_bytes, _, window_bytes, count = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != 1 or window_bytes != _WINDOW_BYTES:
        raise ValueError("not the index format of indexed_gzip 1.10")
    at = _HEAD.size + count * _POINT.size
    found = []
    for number in range(count):
        place = _HEAD.size + number * _POINT.size
        compressed, text, bits, has_window = _POINT.unpack_from(data, place)
        window = b""
        if has_window:
            window = _deflated(data[at : at + window_bytes])
            at += window_bytes
        found.append((Checkpoint(text, compressed, bits, 0, len(window)), window))
    return Checkpoints(text_bytes, tuple(found))


def _deflated(window: bytes) -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packing.compress(window) + packing.flush()
