"""Read the contents of files of a view; each layer with some of them is read once more."""

from collections.abc import Iterable, Iterator

from trimtab.errors import TrimtabError
from trimtab.files import open_regular
from trimtab.images.archives.image import Image
from trimtab.images.layers import open_layer
from trimtab.images.node import Inode
from trimtab.images.tar.stream import CHUNK_BYTES


def contents_of(image: Image, nodes: Iterable[Inode]) -> Iterator[tuple[Inode, Iterator[bytes]]]:
    """Yield files with their stored bytes, which have to be consumed at once.

    They are in the order of the layers, local files last. Raises ImageError if the image was
    changed since its view was made, TrimtabError if a local file was, and OSError if one is
    unreadable.
    """
    by_layer: dict[int, list[Inode]] = {}
    local = []
    for node in nodes:
        if node.local is None:
            by_layer.setdefault(node.layer, []).append(node)
        else:
            local.append(node)
    for number in sorted(by_layer):
        with open_layer(image, number) as stream:
            for node in sorted(by_layer[number], key=lambda node: node.offset):
                stream.skip(node.offset - stream.position)
                yield node, stream.pieces(node.stored_bytes)
    for node in local:
        yield node, _local_pieces(node)


def _local_pieces(node: Inode) -> Iterator[bytes]:
    assert node.local is not None
    left_bytes = node.size_bytes
    with open_regular(node.local) as file:
        while chunk := file.read(min(CHUNK_BYTES, left_bytes + 1)):
            left_bytes -= len(chunk)
            if left_bytes < 0:
                break
            yield chunk
    if left_bytes:
        raise TrimtabError(f"{node.local}: was changed while it was read")
