"""A root file system in a folder, as an image with one layer.

Mounts of other file systems are left out, and so are sockets, as in any archive.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trimtab.errors import UserError
from trimtab.images.archives import docker_archive, oci_layout
from trimtab.images.archives.fields import Fields
from trimtab.images.archives.image import Config, Image
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.node import KINDS, FileType, Folder, Inode
from trimtab.images.view import View
from trimtab.images.writing.image import write_image


def is_root_folder(path: Path) -> bool:
    """Return whether a path is a folder, other than an image saved as a folder."""
    documents = oci_layout.INDEX_NAME, docker_archive.MANIFEST
    return path.is_dir() and not any((path / name).is_file() for name in documents)


@contextmanager
def image_of_folder(folder: Path) -> Iterator[Image]:
    """Yield an image of the folder's content; its layer is in TMPDIR until the block ends.

    Raises OSError if a file is unreadable or its copy does not fit, and TrimtabError if one is
    written to meanwhile.
    """
    nothing = Image(folder, (), Config(Fields({}), ()), ())
    with tempfile.TemporaryDirectory(prefix="trimtab-") as place:
        if Path(place).resolve().is_relative_to(folder.resolve()):
            raise UserError(
                f"{folder}: holds TMPDIR, which its copy is made in; name another TMPDIR"
            )
        archive = Path(place, "folder.tar")
        write_image(
            nothing, folder_view(folder), archive, name="folder", compression=Compression.NONE
        )
        yield replace(open_image(archive), path=folder)


def folder_view(top: Path) -> View:
    """Return a view of the content of `top`; file contents stay in place.

    Raises OSError for an unreadable folder.
    """
    root = _node(str(top), top.stat())
    assert isinstance(root, Folder)
    device = top.stat().st_dev
    named: dict[int, Inode] = {}  # files with several names, by inode
    waiting = [(root, str(top))]
    while waiting:
        folder, place = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                node = named.get(status.st_ino) if status.st_dev == device else None
                node = node or _node(entry.path, status)
                if node is None:
                    continue
                folder.children[entry.name] = node
                if status.st_dev != device:
                    continue
                if isinstance(node, Folder):
                    waiting.append((node, entry.path))
                elif status.st_nlink > 1:
                    named[status.st_ino] = node
    return View(root)


def _node(path: str, status: os.stat_result) -> Inode | None:
    kind = KINDS.get(stat.S_IFMT(status.st_mode), FileType.OTHER)
    if kind is FileType.OTHER:
        return None
    node = (Folder if kind is FileType.FOLDER else Inode)(
        kind,
        stat.S_IMODE(status.st_mode),
        status.st_uid,
        status.st_gid,
        status.st_mtime_ns,
        xattrs=_xattrs(path),
        layer=0,
    )
    if kind is FileType.FILE:
        node.local, node.size_bytes = Path(path), status.st_size
    elif kind is FileType.LINK:
        node.target = os.readlink(path)
    else:
        node.device = os.major(status.st_rdev), os.minor(status.st_rdev)
    return node


def _xattrs(path: str) -> tuple[tuple[str, bytes], ...]:
    try:
        names = sorted(os.listxattr(path, follow_symlinks=False))
        return tuple((name, os.getxattr(path, name, follow_symlinks=False)) for name in names)
    except OSError:  # not supported by the file system, or not readable by all
        return ()
