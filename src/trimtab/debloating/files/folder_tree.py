"""A folder on disk as a tree."""

import os
import stat
from functools import partial
from pathlib import Path
from typing import BinaryIO

from trimtab.debloating.files.tree import FileTree, NodeKind, TreeNode, joined
from trimtab.errors import UserError
from trimtab.files import open_regular

_KINDS = {stat.S_IFREG: NodeKind.FILE, stat.S_IFDIR: NodeKind.FOLDER, stat.S_IFLNK: NodeKind.LINK}


def root_tree(root: Path) -> FileTree:
    """Return the folder `root` as a whole root file system: programs that run in it see no other.

    What is mounted in it does not belong to it. Raises UserError where it is no folder, and OSError
    for what cannot be read.
    """
    return _tree(root, ("",))


def prefix_tree(root: Path) -> FileTree:
    """Return the folder `root`, such as a Python environment's, as programs outside see it.

    Raises as `root_tree` does.
    """
    return _tree(root, spellings(root))


def spellings(root: Path) -> tuple[str, ...]:
    """Return the paths by which programs know a folder, the real one first."""
    return tuple(dict.fromkeys((os.path.realpath(root), os.path.abspath(root))))


def _tree(root: Path, tops: tuple[str, ...]) -> FileTree:
    real = os.path.realpath(root)
    if not root.is_dir():
        raise UserError(f"{root}: not a folder; name the root of a file system, or an environment")
    top = root.stat()
    nodes = {"/": _node(real, top)}
    waiting = ["/"]
    while waiting:
        folder = waiting.pop()
        with os.scandir(real + folder) as entries:
            for entry in entries:
                path = joined(folder, entry.name)
                status = entry.stat(follow_symlinks=False)
                nodes[path] = _node(entry.path, status)
                if stat.S_ISDIR(status.st_mode) and status.st_dev == top.st_dev:
                    waiting.append(path)
    return FileTree(nodes, partial(_open, real), tops)


def _node(path: str, status: os.stat_result) -> TreeNode:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), NodeKind.OTHER)
    return TreeNode(
        kind,
        status.st_size if kind is NodeKind.FILE else 0,
        stat.S_IMODE(status.st_mode),
        os.readlink(path) if kind is NodeKind.LINK else "",
        (status.st_dev, status.st_ino) if status.st_nlink > 1 and kind is NodeKind.FILE else None,
    )


def _open(real: str, path: str) -> BinaryIO:
    return open_regular(Path(real + path), follow=False)
