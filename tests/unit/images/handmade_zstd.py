"""Layers of zstd frames made by hand: with known places, and as zstd:chunked has them."""

import hashlib
import io
import struct
import tarfile
from collections.abc import Mapping, Sequence
from itertools import pairwise

from trimtab.cold_store.index import OBJECT_BYTES, Checkpoint, ColdFile, ColdIndex, ColdLayer
from trimtab.zstd import zstd

PART_BYTES = 1 << 20


def skippable(data: bytes, kind: int = 0) -> bytes:
    return struct.pack("<II", 0x184D2A50 + kind, len(data)) + data


def streamed(text: bytes, level: int = 3, **options: int) -> bytes:
    """A frame of a writer that does not know how long it gets: without the size of its text."""
    parameter = zstd.CompressionParameter
    given = {getattr(parameter, name): value for name, value in options.items()}
    packing = zstd.ZstdCompressor(options={parameter.compression_level: level, **given})
    return packing.compress(text) + packing.flush()


def chunked(archive: bytes) -> bytes:
    """An archive as Podman pushes it with --compression-format zstd:chunked.

    Headers, and each file in parts, are frames; what leads to them is in skippable frames behind.
    """
    ends = set()
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        for member in members:
            end = member.offset_data + (member.size if member.isreg() else 0)
            ends |= {*range(member.offset_data, end, PART_BYTES), end}
    places = sorted({0, *ends, len(archive)})
    frames = [streamed(archive[a:b]) for a, b in pairwise(places)]
    contents = zstd.compress(b'{"version": 1, "entries": []}')
    return b"".join(frames) + skippable(contents) + skippable(bytes(56) + b"GNUlInUx")


def index_of(
    frames: Sequence[tuple[bytes, bytes]],
    files: Mapping[tuple[int, int], bytes],
    kept: Sequence[int] | None = None,
) -> tuple[ColdIndex, bytes]:
    """Return the index of one layer of frames, each with its text, and the layer.

    `kept` are the numbers of those that become checkpoints, besides the first with text.
    """
    places: list[Checkpoint] = []
    blob, text_bytes = b"", 0
    for number, (frame, text) in enumerate(frames):
        if text and (not places or kept is None or number in kept):
            places.append(Checkpoint(text_bytes, len(blob)))
        blob, text_bytes = blob + frame, text_bytes + len(text)
    digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
    layer = ColdLayer(digest, len(blob), text_bytes, "zstd", tuple(places))
    named = {}
    for (offset, size), content in files.items():
        parts = [content[at : at + OBJECT_BYTES] for at in range(0, size, OBJECT_BYTES)]
        objects = tuple(hashlib.sha256(part).hexdigest() for part in parts)
        named[hashlib.sha256(content).hexdigest()] = ColdFile(0, offset, size, objects)
    return ColdIndex("sha256:" + "0" * 64, "test", (layer,), named), blob
