"""Write a layer of a selection: the same files give the same bytes.

Folders come first, as their content needs them, then links, devices and pipes, each by name. Files
follow in the order of the original's layers, so that each layer is read once; then local files; and
last hard links, after their targets.
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
    """The digests of a written layer: `digest` of its bytes, `diff_id` before compression."""

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
            if name or folder.layer != NO_LAYER:  # few layers have an entry for the top folder
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
    """Compresses added data, and computes its digests before and after."""

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
