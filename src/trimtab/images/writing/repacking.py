"""Repack an image as in a registry: the same layers with one compression, in an OCI layout."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from trimtab.images.archives import descriptor, oci_layout
from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression, compressor
from trimtab.images.layers import compression_at, open_layer
from trimtab.images.tar.stream import CHUNK_BYTES
from trimtab.images.writing.image import LAYER_TYPES
from trimtab.images.writing.layout import ImageWriter, blob_name, new_layout


def repack(image: Image, folder: Path, compression: Compression) -> None:
    """Write `image`, whose view was made before, into the new OCI layout `folder`.

    Layers that already have the compression keep their bytes; the others are recompressed. Raises
    ImageError if the image was changed since its view was made, and OSError as writing does.
    """
    with new_layout(folder) as layout:
        layers = {
            layer.diff_id: _add_layer(layout, image, number, compression)
            for number, layer in enumerate(image.layers)
        }
        config = _json(image.config.document.values)
        manifest = _json(
            {
                "schemaVersion": 2,
                "mediaType": descriptor.MANIFEST,
                "config": _described(descriptor.CONFIG, layout.add_blob(config), len(config)),
                "layers": [layers[layer.diff_id] for layer in image.layers],
            }
        )
        found = _described(descriptor.MANIFEST, layout.add_blob(manifest), len(manifest))
        index = {"schemaVersion": 2, "mediaType": descriptor.INDEX, "manifests": [found]}
        layout.add_data(oci_layout.LAYOUT_NAME, _json({"imageLayoutVersion": "1.0.0"}))
        layout.add_data(oci_layout.INDEX_NAME, _json(index))


def _add_layer(
    layout: ImageWriter, image: Image, number: int, compression: Compression
) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    layer = image.layers[number]
    stays = compression_at(layer) is compression

    def write(file: IO[bytes]) -> str:
        sha256, size_bytes = hashlib.sha256(), 0
        for piece in layer.region.chunks() if stays else _packed(image, number, compression):
            sha256.update(piece)
            size_bytes += file.write(piece)
        digest = f"sha256:{sha256.hexdigest()}"
        found.append(_described(LAYER_TYPES[compression], digest, size_bytes))
        return blob_name(digest)

    layout.add(write)
    return found[0]


def _packed(image: Image, number: int, compression: Compression) -> Iterator[bytes]:
    packing = compressor(compression)
    with open_layer(image, number) as stream:
        while piece := stream.take(CHUNK_BYTES):
            yield packing.compress(piece)
    yield packing.flush()


def _described(media_type: str, digest: str, size_bytes: int) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest, "size": size_bytes}


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
