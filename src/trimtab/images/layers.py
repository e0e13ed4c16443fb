"""Layers in an archive: their bytes, checked against their digests, and their members."""

from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.images.archives.image import Image, Layer
from trimtab.images.compression import Compression, compression_of, decompressed
from trimtab.images.digest import checked
from trimtab.images.errors import damage_of
from trimtab.images.limits import ImageLimit
from trimtab.images.tar.names import encoded
from trimtab.images.tar.reader import TarMember, read_members
from trimtab.images.tar.stream import CHUNK_BYTES, ByteStream, FileStream


def read_layer(image: Image, number: int, limit: ImageLimit) -> list[TarMember]:
    """Read a whole layer and return its members.

    Raises ImageError if it is damaged, has a wrong digest, or exceeds `limit`.
    """
    layer = image.layers[number]
    members = []
    with damage_of(image.path, layer_name(image, number)):
        pieces = _checked_pieces(layer, limit)
        stream = ByteStream(lambda: next(pieces, b""))
        for member in read_members(stream, number):
            limit.entry(_text_bytes(member))
            members.append(member)
        for _ in pieces:  # bytes after the end of the archive are part of the digest
            pass
    return members


@contextmanager
def open_layer(image: Image, number: int) -> Iterator[ByteStream]:
    """Open a layer that was read before, uncompressed, to read contents from it."""
    layer = image.layers[number]
    with damage_of(image.path, layer_name(image, number)):
        compression = compression_at(layer)
        if compression is Compression.NONE:
            with layer.region.open() as file:
                yield FileStream(file, layer.region.offset, layer.region.size_bytes)
        else:
            pieces = decompressed(layer.region.chunks(), compression)
            yield ByteStream(lambda: next(pieces, b""))


def layer_name(image: Image, number: int) -> str:
    """Return the name of a layer in errors."""
    return f"layer {number + 1} of {len(image.layers)} ({image.layers[number].diff_id[:19]})"


def _checked_pieces(layer: Layer, limit: ImageLimit) -> Iterator[bytes]:
    chunks = layer.region.chunks()
    if layer.digest not in (None, layer.diff_id):
        chunks = checked(chunks, layer.digest)
    pieces = decompressed(chunks, compression_at(layer))
    return checked(limit.bounded(pieces), layer.diff_id)


def compression_at(layer: Layer) -> Compression:
    """Return the compression of a stored layer, from its first bytes."""
    with layer.region.open() as file:
        file.seek(layer.region.offset)
        return compression_of(file.read(min(CHUNK_BYTES, layer.region.size_bytes)))


def _text_bytes(member: TarMember) -> int:
    count = len(member.name) + len(member.hard_link)
    if member.node is not None:
        count += len(encoded(member.node.target))
        count += sum(len(key) + len(value) for key, value in member.node.xattrs)
    return count
