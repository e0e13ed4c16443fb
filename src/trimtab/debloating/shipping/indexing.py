"""Make the cold index of a slim image from the layers of its original."""

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from trimtab.cold_store.index import OBJECT_BYTES, Checkpoint, ColdFile, ColdIndex, ColdLayer
from trimtab.debloating.shipping.checkpoints import Checkpoints, gzip_checkpoints
from trimtab.debloating.shipping.found_contents import FoundContents
from trimtab.debloating.shipping.zstd_frames import frame_checkpoints
from trimtab.images.archives.image import Image, Layer
from trimtab.images.compression import Compression
from trimtab.images.layers import compression_at


class IndexBuilder:
    """Gathers layers and files; windows are stored once each, in the order of the layers."""

    def __init__(self) -> None:
        self._layers: list[ColdLayer] = []
        self._files: dict[str, ColdFile] = {}
        self._windows = bytearray()

    def add_image(self, image: Image, found: Mapping[bytes, FoundContents]) -> None:
        """Add the layers of the original that hold something of `found`."""
        for number in sorted({place.layer for place in found.values()}):
            here = [place for place in found.values() if place.layer == number]
            self._add(self._described(image.layers[number], here), here)

    def add_blob(self, blob: ColdLayer, found: Mapping[bytes, FoundContents]) -> None:
        """Add a cold blob with the places of what it holds."""
        self._add(blob, found.values())

    def index(self, original: str) -> ColdIndex:
        """Return the index; `original` is the digest of the original's manifest, or ""."""
        return ColdIndex(
            original, version("trimtab"), tuple(self._layers), self._files, bytes(self._windows)
        )

    def _add(self, layer: ColdLayer, found: Iterable[FoundContents]) -> None:
        for place in found:
            self._files[place.digests.sha256] = ColdFile(
                len(self._layers), place.offset, place.size_bytes, place.digests.objects
            )
        self._layers.append(layer)

    def _described(self, layer: Layer, found: Iterable[FoundContents]) -> ColdLayer:
        digest, size_bytes = layer.digest or layer.diff_id, layer.region.size_bytes
        compression = compression_at(layer)
        if compression is Compression.NONE:
            return ColdLayer(digest, size_bytes, size_bytes, compression.value)
        every = _checkpoints_of(layer, compression)
        offsets = [point.uncompressed_offset for point, _ in every.points]
        needed = set[int]()
        for place in found:
            end = place.offset + place.size_bytes
            for start in range(place.offset, end, OBJECT_BYTES):
                needed.add(bisect_right(offsets, start) - 1)
            needed.add(min(bisect_left(offsets, end), len(offsets) - 1))
        kept: list[Checkpoint] = []
        for number in sorted(needed):
            point, window = every.points[number]
            if kept and point.compressed_offset == kept[-1].compressed_offset:
                continue
            kept.append(replace(point, window_offset=len(self._windows)))
            self._windows += window
        return ColdLayer(digest, size_bytes, every.text_bytes, compression.value, tuple(kept))


def _checkpoints_of(layer: Layer, compression: Compression) -> Checkpoints:
    if compression is Compression.ZSTD:
        found = frame_checkpoints(layer.region.chunks())
        assert found is not None  # or nothing was found in this layer
        return found
    with tempfile.NamedTemporaryFile(suffix=".gz") as copy:
        for piece in layer.region.chunks():
            copy.write(piece)
        copy.flush()
        return gzip_checkpoints(Path(copy.name))
