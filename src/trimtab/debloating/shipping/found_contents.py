"""Where the contents of removed files are in the layers of the original image."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trimtab.cold_store.index import OBJECT_BYTES
from trimtab.debloating.shipping.removed_pieces import RemovedPieces
from trimtab.debloating.shipping.zstd_frames import frame_checkpoints
from trimtab.debloating.store import DIGEST_BYTES
from trimtab.images.archives.image import Image, Layer
from trimtab.images.compression import Compression
from trimtab.images.contents import contents_of
from trimtab.images.layers import compression_at, read_layer
from trimtab.images.limits import ImageLimit
from trimtab.images.node import FileType


@dataclass(frozen=True)
class Digests:
    """The SHA-256 of a file's contents, and that of each of its objects."""

    sha256: str
    objects: tuple[str, ...]


@dataclass(frozen=True)
class FoundContents:
    """Contents at `offset` of the text of the layer number `layer`."""

    layer: int
    offset: int
    size_bytes: int
    digests: Digests


def found_in(image: Image, wanted: RemovedPieces) -> dict[bytes, FoundContents]:
    """Return the places of `wanted` in the layers of `image`, by their names.

    Layers are read and their digests checked. What is sparse in a layer is not found, nor what is
    in one of zstd that `frame_checkpoints` refuses. Raises ImageError as reading does.
    """
    sizes = set(wanted.size_bytes.values())
    limit = ImageLimit(sum(layer.region.size_bytes for layer in image.layers))
    nodes = [
        member.node
        for number, layer in enumerate(image.layers)
        if _is_read_in_parts(layer)
        for member in read_layer(image, number, limit)
        if member.node is not None
        and member.node.kind is FileType.FILE
        and member.node.segments is None
        and member.node.size_bytes in sizes
    ]
    found: dict[bytes, FoundContents] = {}
    for node, pieces in contents_of(image, nodes):
        digests = digests_of(pieces)
        name = bytes.fromhex(digests.sha256)[:DIGEST_BYTES]
        if wanted.size_bytes.get(name) == node.size_bytes and name not in found:
            found[name] = FoundContents(node.layer, node.offset, node.size_bytes, digests)
    return found


def _is_read_in_parts(layer: Layer) -> bool:
    return (
        compression_at(layer) is not Compression.ZSTD
        or frame_checkpoints(layer.region.chunks()) is not None
    )


def digests_of(pieces: Iterable[bytes]) -> Digests:
    """Return the digests of contents that come in `pieces`."""
    whole, objects, pending = hashlib.sha256(), [], bytearray()
    for piece in pieces:
        whole.update(piece)
        pending += piece
        while len(pending) >= OBJECT_BYTES:
            objects.append(hashlib.sha256(pending[:OBJECT_BYTES]).hexdigest())
            del pending[:OBJECT_BYTES]
    if pending:
        objects.append(hashlib.sha256(pending).hexdigest())
    return Digests(whole.hexdigest(), tuple(objects))


def missing_from(found: Mapping[bytes, object], wanted: RemovedPieces) -> RemovedPieces:
    """Return what is `wanted` and not `found`."""
    left = wanted.size_bytes.keys() - found.keys()
    return RemovedPieces(
        {name: wanted.size_bytes[name] for name in sorted(left)},
        {name: wanted.paths[name] for name in left},
    )
