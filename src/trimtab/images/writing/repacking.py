"""Repack an image as in a registry: the same layers with one compression, in an OCI layout."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from trimtab.images.archives import descriptor, oci_layout
from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression, compressor
from trimtab.images.layers import compression_at, open_layer
from trimtab.images.selection import select
from trimtab.images.tar.stream import CHUNK_BYTES
from trimtab.images.view import View
from trimtab.images.writing.documents import described, json_bytes
from trimtab.images.writing.image import LAYER_TYPES, add_layer, described_layer
from trimtab.images.writing.layer import WrittenLayer
from trimtab.images.writing.layout import ImageWriter, blob_name, new_layout


def repack(
    image: Image,
    folder: Path,
    compression: Compression,
    *,
    files: Mapping[str, Path] | None = None,
) -> str:
    """Write `image`, whose view was made before, into the new OCI layout `folder`.

    Layers that already have the compression keep their bytes; the others are recompressed. `files`,
    by their paths in the image, are a layer above the others. Returns the manifest's digest. Raises
    ImageError if the image was changed since its view was made, and OSError as writing does.
    """
    with new_layout(folder) as layout:
        by_diff_id = {
            layer.diff_id: _copy_layer(layout, image, number, compression)
            for number, layer in enumerate(image.layers)
        }
        layers = [by_diff_id[layer.diff_id] for layer in image.layers]
        added = _add_files(layout, image, files or {}, compression)
        layers += [described_layer(layer) for layer in added]
        config = json_bytes(_config(image, added))
        layout.add_blob(config)
        manifest = {
            "schemaVersion": 2,
            "mediaType": descriptor.MANIFEST,
            "config": described(descriptor.CONFIG, config),
            "layers": layers,
        }
        if image.annotations:
            manifest["annotations"] = image.annotations
        data = json_bytes(manifest)
        index = {
            "schemaVersion": 2,
            "mediaType": descriptor.INDEX,
            "manifests": [described(descriptor.MANIFEST, data)],
        }
        layout.add_data(oci_layout.LAYOUT_NAME, json_bytes({"imageLayoutVersion": "1.0.0"}))
        layout.add_data(oci_layout.INDEX_NAME, json_bytes(index))
        return layout.add_blob(data)


def _add_files(
    layout: ImageWriter, image: Image, files: Mapping[str, Path], compression: Compression
) -> list[WrittenLayer]:
    view = View()
    for path, local in files.items():
        view.put_file(path, local, mode=0o644)
    return [add_layer(layout, image, select(view), compression)] if files else []


def _config(image: Image, added: list[WrittenLayer]) -> dict[str, Any]:
    document = dict(image.config.document.values)
    if added:
        diff_ids = [*image.config.diff_ids, *(layer.diff_id for layer in added)]
        document["rootfs"] = {"type": "layers", "diff_ids": diff_ids}
        history = image.config.history()
        if history:  # of all layers, or of none
            document["history"] = [*history, *({"created_by": "trimtab"} for _ in added)]
    return document


def _copy_layer(
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
        found.append({"mediaType": LAYER_TYPES[compression], "digest": digest, "size": size_bytes})
        return blob_name(digest)

    layout.add(write)
    return found[0]


def _packed(image: Image, number: int, compression: Compression) -> Iterator[bytes]:
    packing = compressor(compression)
    with open_layer(image, number) as stream:
        while piece := stream.take(CHUNK_BYTES):
            yield packing.compress(piece)
    yield packing.flush()
