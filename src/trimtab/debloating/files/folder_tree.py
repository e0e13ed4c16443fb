"""A folder on disk as a tree."""

import os
import stat
from functools import partial
from pathlib import Path
from typing import BinaryIO

from trimtab.debloating.files.tree import FileTree, joined
from trimtab.errors import UserError
from trimtab.files import open_regular
from trimtab.images.node import KINDS, FileType, Inode


def root_tree(root: Path) -> FileTree:
    """Return the folder `root` as a whole root file system, the only one its programs see.

    Mounted file systems in it are left out. Raises UserError if it is not a folder, and OSError for
    an unreadable entry.
    """
    return _tree(root, ("",))


def prefix_tree(root: Path) -> FileTree:
    """Return the folder `root`, such as a Python environment's, as programs outside see it.

    Raises as `root_tree` does.
    """
    return _tree(root, spellings(root))


def spellings(root: Path) -> tuple[str, ...]:
    """Return the paths by which programs know a folder, the real path first."""
    return tuple(dict.fromkeys((os.path.realpath(root), os.path.abspath(root))))


def _tree(root: Path, tops: tuple[str, ...]) -> FileTree:
    real = os.path.realpath(root)
    if not root.is_dir():
        raise UserError(f"{root}: not a folder; name the root of a file system, or an environment")
    top = root.stat()
    nodes = {"/": _node(real, top)}
    named: dict[tuple[int, int], Inode] = {}  # files of several names, by device and inode
    waiting = ["/"]
    while waiting:
        folder = waiting.pop()
        with os.scandir(real + folder) as entries:
            for entry in entries:
                path = joined(folder, entry.name)
                status = entry.stat(follow_symlinks=False)
                nodes[path] = node = _node(entry.path, status)
                if status.st_nlink > 1 and node.kind is FileType.FILE:
                    nodes[path] = named.setdefault((status.st_dev, status.st_ino), node)
                if stat.S_ISDIR(status.st_mode) and status.st_dev == top.st_dev:
                    waiting.append(path)
    return FileTree(nodes, partial(_open, real), tops)


def _node(path: str, status: os.stat_result) -> Inode:
    kind = KINDS.get(stat.S_IFMT(status.st_mode), FileType.OTHER)
    node = Inode(kind, stat.S_IMODE(status.st_mode))
    if kind is FileType.FILE:
        node.size_bytes = status.st_size
    elif kind is FileType.LINK:
        node.target = os.readlink(path)
    return node


def _open(real: str, path: str) -> BinaryIO:
    return open_regular(Path(real + path), follow=False)
