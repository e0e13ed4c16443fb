"""All that there is to say of an image's file system, to compare two."""

import hashlib
from collections.abc import Iterator

from trimtab.images.archives.image import Image
from trimtab.images.contents import contents_of
from trimtab.images.merging import merged_view
from trimtab.images.node import FileType

Facts = dict[str, tuple[object, ...]]


def facts(image: Image) -> Facts:
    """Return what `image` has at each path; the first name of a file stands for the file."""
    nodes = dict(merged_view(image).walk())
    first = {node: path for path, node in reversed(nodes.items())}
    files = [node for node in first if node.kind is FileType.FILE]
    digests = {node: _digest(pieces) for node, pieces in contents_of(image, files)}
    return {
        path: (node.kind, node.mode if node.kind is not FileType.LINK else 0, node.uid, node.gid,
               node.mtime_ns, node.target, node.device, node.xattrs, first[node],
               digests.get(node))
        for path, node in nodes.items()
    }  # fmt: skip


def _digest(pieces: Iterator[bytes]) -> str:
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()
