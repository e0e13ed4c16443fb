"""Write a new image from a part of another one's view.

The format is Docker's since version 25: an OCI image layout and the manifest.json that older
versions read. So one archive serves all of them, and Podman.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from trimtab.errors import UserError
from trimtab.images.archives import descriptor, docker_archive, oci_layout
from trimtab.images.archives.image import Image
from trimtab.images.archives.platform import Platform
from trimtab.images.compression import Compression
from trimtab.images.selection import ViewSelection, select
from trimtab.images.view import View
from trimtab.images.writing.documents import described, json_bytes
from trimtab.images.writing.layer import WrittenLayer, write_layer
from trimtab.images.writing.layout import ImageWriter, blob_name, new_layout
from trimtab.images.writing.reference import Reference

LAYER_TYPES = {
    Compression.NONE: "application/vnd.oci.image.layer.v1.tar",
    Compression.GZIP: "application/vnd.oci.image.layer.v1.tar+gzip",
    Compression.ZSTD: "application/vnd.oci.image.layer.v1.tar+zstd",
}
_NO_LONGER_TRUE = "org.opencontainers.image.base."  # names the image of its lowest layers
_CREATED_BY = "trimtab"


@dataclass(frozen=True)
class WrittenImage:
    """A new image: `config_digest` is its ID in engines, `manifest_digest` in registries.

    `layers` begins with the lowest.
    """

    manifest_digest: str
    config_digest: str
    layers: tuple[WrittenLayer, ...]


def write_image(
    image: Image,
    view: View,
    destination: Path,
    *,
    name: str,
    compression: Compression,
    kept: Iterable[str] | None = None,
    below: Sequence[ViewSelection] = (),
) -> WrittenImage:
    """Write an image `name` with one layer of the paths `kept` of `view`, or of all.

    Below it are layers of the selections `below`, the lowest first, from other views of the same
    image; other images may share them. `destination` becomes a tar file if it ends in `.tar`,
    otherwise a folder; it is replaced atomically. The rest of the image's config stays, such as
    command, user and labels. The same input gives the same digests. Raises UserError for an invalid
    name or a destination that would replace the original, and as `select`, `contents_of` and
    writing do.
    """
    reference = Reference.parse(name)
    _check_place(image.path, destination)
    selections = [*below, select(view, kept)]
    with new_layout(destination) as layout:
        layers = [add_layer(layout, image, each, compression) for each in selections]
        config = json_bytes(_slim_config(image, layers, selections))
        manifest = json_bytes(_manifest(image, layers, described(descriptor.CONFIG, config)))
        written = WrittenImage(layout.add_blob(manifest), layout.add_blob(config), tuple(layers))
        add_index(
            layout,
            described(descriptor.MANIFEST, manifest),
            image.config.platform(),
            reference,
            written.config_digest,
            [layer.digest for layer in layers],
        )
    return written


def _check_place(original: Path, destination: Path) -> None:
    place, source = Path(os.path.realpath(destination)), Path(os.path.realpath(original))
    if place.is_relative_to(source) or source.is_relative_to(place):
        raise UserError(
            f"{destination}: the slim image cannot be in the place of the original {original};"
            " choose another"
        )


def add_layer(
    layout: ImageWriter, image: Image, selection: ViewSelection, compression: Compression
) -> WrittenLayer:
    """Add a layer of a selection of a view of `image` to a layout."""
    written: list[WrittenLayer] = []

    def write(file: IO[bytes]) -> str:
        written.append(write_layer(image, selection, file, compression))
        return blob_name(written[0].digest)

    layout.add(write)
    return written[0]


def _slim_config(
    image: Image, layers: Sequence[WrittenLayer], selections: Sequence[ViewSelection]
) -> dict[str, Any]:
    """Return the config; the original's history stays, marked as without layers."""
    document = dict(image.config.document.values)
    earlier = image.config.history()
    for entry in earlier:
        entry["empty_layer"] = True
    # Only this date is the same each time.
    date = {"created": document["created"]} if "created" in document else {}
    new = [
        {
            "created_by": _CREATED_BY,
            "comment": f"{selection.paths} paths of the {len(image.layers)} layers above, in one",
            **date,
        }
        for selection in selections
    ]
    document["history"] = [*earlier, *new]
    document["rootfs"] = {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]}
    return document


def _manifest(
    image: Image, layers: Sequence[WrittenLayer], config: dict[str, Any]
) -> dict[str, Any]:
    manifest = {
        "schemaVersion": 2,
        "mediaType": descriptor.MANIFEST,
        "config": config,
        "layers": [described_layer(layer) for layer in layers],
    }
    annotations = {
        key: value
        for key, value in image.annotations.items()
        if not key.startswith(_NO_LONGER_TRUE)
    }
    return {**manifest, "annotations": annotations} if annotations else manifest


def add_index(
    layout: ImageWriter,
    manifest: dict[str, Any],
    platform: Platform,
    reference: Reference,
    config_digest: str,
    layer_digests: Sequence[str],
) -> None:
    """Add the documents by which engines, old and new, find the only image of a layout."""
    facts = {"os": platform.system, "architecture": platform.architecture}
    if platform.variant:
        facts["variant"] = platform.variant
    names = {descriptor.ENGINE_NAME: reference.whole, descriptor.NAME: reference.whole}
    index = {
        "schemaVersion": 2,
        "mediaType": descriptor.INDEX,
        "manifests": [{**manifest, "platform": facts, "annotations": names}],
    }
    archive = {
        "Config": blob_name(config_digest),
        "RepoTags": [str(reference)],
        "Layers": [blob_name(digest) for digest in layer_digests],
    }
    layout.add_data(oci_layout.LAYOUT_NAME, json_bytes({"imageLayoutVersion": "1.0.0"}))
    layout.add_data(oci_layout.INDEX_NAME, json_bytes(index))
    layout.add_data(docker_archive.MANIFEST, json_bytes([archive]))


def described_layer(layer: WrittenLayer) -> dict[str, Any]:
    """Return a descriptor of a written layer."""
    return {
        "mediaType": LAYER_TYPES[layer.compression],
        "digest": layer.digest,
        "size": layer.size_bytes,
    }
