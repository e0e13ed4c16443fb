"""The file system of an image as a tree, without extracting it."""

import errno
import io
import os
import re
from typing import BinaryIO

from trimtab.debloating.files.tree import FileTree
from trimtab.images.archives.image import Image
from trimtab.images.contents import contents_of
from trimtab.images.node import FileType, Inode
from trimtab.images.view import View

# Read by `packages_of` and `packages_in`: the databases of dpkg, apk, pip, conda and npm.
_DATABASE = re.compile(
    r"/var/lib/dpkg/(?:info/[^/]*\.list|status|status\.d/[^/]*)\Z|/lib/apk/db/installed\Z"
    r"|/(?:etc|usr/lib)/os-release\Z|/conda-meta/[^/]*\.json\Z"
    r"|\.(?:dist|egg)-info(?:/(?:RECORD|installed-files\.txt|top_level\.txt|METADATA|PKG-INFO))?\Z"
    r"|/node_modules/(?:@[^/]+/)?[^/]+/package\.json\Z"
)
_MOST_BYTES = 1 << 28  # of all lists; a whole CUDA environment has 20 MB


def view_tree(image: Image, view: View) -> FileTree:
    """Return the tree of `view`; only the databases of packages can be opened.

    They are read at once, at most 256 MiB of them; the rest counts as empty. Raises as
    `contents_of` does.
    """
    found = dict(view.walk())
    wanted: dict[Inode, str] = {}
    left_bytes = _MOST_BYTES
    for path, node in found.items():
        if node.kind is FileType.FILE and _DATABASE.search(path):
            left_bytes -= node.size_bytes
            if left_bytes >= 0:
                wanted[node] = path
    texts = {node: b"".join(pieces) for node, pieces in contents_of(image, wanted)}

    def open_file(path: str) -> BinaryIO:
        if not _DATABASE.search(path):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)
        return io.BytesIO(texts.get(found[path], b""))

    return FileTree(found, open_file)
