"""Gzip layers with checkpoints, made by the C library itself, for tests and benchmarks."""

import ctypes
import ctypes.util
import hashlib
import zlib
from collections.abc import Mapping, Sequence

from trimtab.cold_store.index import OBJECT_BYTES, Checkpoint, ColdFile, ColdIndex, ColdLayer

_GZIP, _BLOCK, _END = 47, 5, 1


class _Stream(ctypes.Structure):
    _fields_ = (
        ("next_in", ctypes.c_void_p),
        ("avail_in", ctypes.c_uint),
        ("total_in", ctypes.c_ulong),
        ("next_out", ctypes.c_void_p),
        ("avail_out", ctypes.c_uint),
        ("total_out", ctypes.c_ulong),
        ("msg", ctypes.c_char_p),
        ("state", ctypes.c_void_p),
        ("zalloc", ctypes.c_void_p),
        ("zfree", ctypes.c_void_p),
        ("opaque", ctypes.c_void_p),
        ("data_type", ctypes.c_int),
        ("adler", ctypes.c_ulong),
        ("reserved", ctypes.c_ulong),
    )


def checkpoints_of(data: bytes, spacing: int) -> list[tuple[Checkpoint, bytes]]:
    """Return checkpoints of gzip members at ends of blocks, `spacing` bytes of text apart.

    Each comes with its window, deflated; its offset among the windows is 0.
    """
    library = ctypes.CDLL(ctypes.util.find_library("z"))
    stream = _Stream()
    library.inflateInit2_(ctypes.byref(stream), _GZIP, b"1.2.11", ctypes.sizeof(stream))
    given, out = ctypes.create_string_buffer(data, len(data)), ctypes.create_string_buffer(1 << 16)
    stream.next_in, stream.avail_in = ctypes.addressof(given), len(data)
    text_at, found, recent = 0, [], b""
    while stream.avail_in:
        stream.next_out, stream.avail_out = ctypes.addressof(out), len(out)
        status = library.inflate(ctypes.byref(stream), _BLOCK)
        if status not in (0, _END):
            raise ValueError(f"inflate: {status}")
        made = len(out) - stream.avail_out
        text_at += made
        recent = (recent + out.raw[:made])[-(1 << 15) :]
        place = len(data) - stream.avail_in
        far = not found or text_at - found[-1][0].uncompressed_offset >= spacing
        if status == _END:
            if data[place : place + 2] != b"\x1f\x8b":
                break
            library.inflateReset(ctypes.byref(stream))
            recent = b""
        elif stream.data_type & 128 and not stream.data_type & 64 and far:
            packing = zlib.compressobj(6, zlib.DEFLATED, -15)
            window = packing.compress(recent) + packing.flush() if recent else b""
            found.append((Checkpoint(text_at, place, stream.data_type & 7, 0, len(window)), window))
    library.inflateEnd(ctypes.byref(stream))
    return found


def index_of(
    layers: Sequence[tuple[bytes, bytes, int]], files: Mapping[tuple[int, int, int], bytes]
) -> ColdIndex:
    """Return an index of layers (blob, text, spacing, or 0 for no compression) and files.

    A file is at (layer, offset, bytes).
    """
    windows, described = b"", []
    for blob, text, spacing in layers:
        kept = []
        for point, window in checkpoints_of(blob, spacing) if spacing else []:
            kept.append(
                Checkpoint(point.uncompressed_offset, point.compressed_offset, point.bits,
                           len(windows), len(window))
            )  # fmt: skip
            windows += window
        digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
        kind = "gzip" if spacing else "none"
        described.append(ColdLayer(digest, len(blob), len(text), kind, tuple(kept)))
    named = {}
    for (layer, offset, size), content in files.items():
        parts = [content[at : at + OBJECT_BYTES] for at in range(0, size, OBJECT_BYTES)]
        objects = tuple(hashlib.sha256(part).hexdigest() for part in parts)
        named[hashlib.sha256(content).hexdigest()] = ColdFile(layer, offset, size, objects)
    return ColdIndex("sha256:" + "0" * 64, "test", tuple(described), named, windows)
