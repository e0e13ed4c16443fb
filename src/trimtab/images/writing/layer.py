"""One layer of a selection: the same files give the same bytes.

Folders come first, as what is in them needs them, then links, devices and pipes, each by name; then
files, as they lie in the layers of the original, so that each of these is read once; local files;
and hard links at last, behind what they are links to.
"""

import hashlib
from dataclasses import dataclass
from typing import IO

from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression, compressor
from trimtab.images.contents import contents_of
from trimtab.images.errors import damage_of
from trimtab.images.node import NO_LAYER
from trimtab.images.selection import ViewSelection
from trimtab.images.tar.writer import END_OF_ARCHIVE, member_header, padding

_GATHERED_BYTES = 1 << 18


@dataclass(frozen=True)
class WrittenLayer:
    """A layer as it was written: the digests of its bytes, `diff_id` that before compression."""

    diff_id: str
    digest: str
    uncompressed_bytes: int
    size_bytes: int
    compression: Compression


def write_layer(
    image: Image, selection: ViewSelection, file: IO[bytes], compression: Compression
) -> WrittenLayer:
    """Write a layer to `file`. Raises as `contents_of` does, and OSError as writing does."""
    sink = _Sink(file, compression)
    with damage_of(image.path, "the new layer"):
        for name, folder in selection.folders.items():
            if name or folder.layer != NO_LAYER:  # of the top folder few layers say anything
                sink.add(member_header(name, folder))
        for node, name in selection.others.items():
            sink.add(member_header(name, node))
        for node, pieces in contents_of(image, selection.files):
            sink.add(member_header(selection.files[node], node))
            for piece in pieces:
                sink.add(piece)
            sink.add(padding(node.stored_bytes))
        for name, node, first in selection.hard_links:
            sink.add(member_header(name, node, first))
    sink.add(END_OF_ARCHIVE)
    return sink.finish()


class _Sink:
    """Compresses what is added, and digests it before and after."""

    def __init__(self, file: IO[bytes], compression: Compression) -> None:
        self._file, self._compression = file, compression
        self._compressor = compressor(compression)
        self._before, self._after = hashlib.sha256(), hashlib.sha256()
        self._before_bytes = self._after_bytes = 0
        self._gathered = bytearray()

    def add(self, data: bytes) -> None:
        self._gathered += data
        if len(self._gathered) >= _GATHERED_BYTES:
            self._compress()

    def finish(self) -> WrittenLayer:
        self._compress()
        self._write(self._compressor.flush())
        return WrittenLayer(
            f"sha256:{self._before.hexdigest()}",
            f"sha256:{self._after.hexdigest()}",
            self._before_bytes,
            self._after_bytes,
            self._compression,
        )

    def _compress(self) -> None:
        data = bytes(self._gathered)
        self._gathered.clear()
        self._before.update(data)
        self._before_bytes += len(data)
        self._write(self._compressor.compress(data))

    def _write(self, data: bytes) -> None:
        self._after.update(data)
        self._after_bytes += len(data)
        self._file.write(data)
