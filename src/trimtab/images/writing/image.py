"""Write a new image from a part of another one's view.

The format is Docker's since version 25: an OCI image layout and the manifest.json that older
versions read. So one archive serves all of them, and Podman.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from trimtab.errors import UserError
from trimtab.images.archives import descriptor, docker_archive, oci_layout
from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression
from trimtab.images.digest import digest_of
from trimtab.images.selection import ViewSelection, select
from trimtab.images.view import View
from trimtab.images.writing.layer import WrittenLayer, write_layer
from trimtab.images.writing.layout import ImageWriter, blob_name, new_layout
from trimtab.images.writing.reference import Reference

LAYER_TYPES = {
    Compression.NONE: "application/vnd.oci.image.layer.v1.tar",
    Compression.GZIP: "application/vnd.oci.image.layer.v1.tar+gzip",
    Compression.ZSTD: "application/vnd.oci.image.layer.v1.tar+zstd",
}
_NO_LONGER_TRUE = "org.opencontainers.image.base."  # names the image of its lowest layers
_CREATED_BY = "trimtab image slim"


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
        layers = [_add_layer(layout, image, each, compression) for each in selections]
        config = _json(_slim_config(image, layers, selections))
        manifest = _json(_manifest(image, layers, _described(descriptor.CONFIG, config)))
        written = WrittenImage(layout.add_blob(manifest), layout.add_blob(config), tuple(layers))
        index = _index(image, _described(descriptor.MANIFEST, manifest), reference)
        archive = {
            "Config": blob_name(written.config_digest),
            "RepoTags": [str(reference)],
            "Layers": [blob_name(layer.digest) for layer in layers],
        }
        layout.add_data(oci_layout.LAYOUT_NAME, _json({"imageLayoutVersion": "1.0.0"}))
        layout.add_data(oci_layout.INDEX_NAME, _json(index))
        layout.add_data(docker_archive.MANIFEST, _json([archive]))
    return written


def _check_place(original: Path, destination: Path) -> None:
    place, source = Path(os.path.realpath(destination)), Path(os.path.realpath(original))
    if place.is_relative_to(source) or source.is_relative_to(place):
        raise UserError(
            f"{destination}: the slim image cannot be in the place of the original {original};"
            " choose another"
        )


def _add_layer(
    layout: ImageWriter, image: Image, selection: ViewSelection, compression: Compression
) -> WrittenLayer:
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
        "layers": [
            {
                "mediaType": LAYER_TYPES[layer.compression],
                "digest": layer.digest,
                "size": layer.size_bytes,
            }
            for layer in layers
        ],
    }
    annotations = {
        key: value
        for key, value in image.annotations.items()
        if not key.startswith(_NO_LONGER_TRUE)
    }
    return {**manifest, "annotations": annotations} if annotations else manifest


def _index(image: Image, manifest: dict[str, Any], reference: Reference) -> dict[str, Any]:
    found = image.config.platform()
    platform = {"os": found.system, "architecture": found.architecture}
    if found.variant:
        platform["variant"] = found.variant
    names = {descriptor.ENGINE_NAME: reference.whole, descriptor.NAME: reference.whole}
    return {
        "schemaVersion": 2,
        "mediaType": descriptor.INDEX,
        "manifests": [{**manifest, "platform": platform, "annotations": names}],
    }


def _described(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}


def _json(document: Mapping[str, Any] | list[Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
