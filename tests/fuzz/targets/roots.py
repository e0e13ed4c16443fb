"""A root file system: which paths of it stay, and which package each is of."""

import io
import os
from contextlib import nullcontext
from pathlib import Path

from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.files.removed_files import selection
from trimtab.debloating.files.tree import FileTree, parents
from trimtab.errors import UserError
from trimtab.images.node import FileType, Inode
from trimtab.profiling.tracing.files import FileUse
from trimtab.untrusted import is_plain_path

ERRORS = UserError
SEPARATOR = b"\x00NODE\x00"
_USES = {"d": "list", "x": "execute", "f": "read"}


def run(data: bytes, folder: Path) -> None:
    """A node is its kind, d, f, x or l, then `!` where it was used, its path, a line end, bytes."""
    nodes = {"/": Inode(FileType.FOLDER, 0o755)}
    contents: dict[str, bytes] = {}
    trace = []
    for part in data.split(SEPARATOR):
        head, _, content = part.partition(b"\n")
        kind, path = chr(head[0]) if head else "", os.fsdecode(head[1:])
        was_used, path = path.startswith("!"), path.removeprefix("!")
        if kind not in "dfxl" or not is_plain_path(path) or path in nodes:
            continue
        above = list(parents(path))
        if any(each in nodes and nodes[each].kind is not FileType.FOLDER for each in above):
            continue
        nodes |= {each: Inode(FileType.FOLDER, 0o755) for each in above if each not in nodes}
        if kind == "l":
            nodes[path] = Inode(FileType.LINK, 0o777, target=os.fsdecode(content) or ".")
        elif kind == "d":
            nodes[path] = Inode(FileType.FOLDER, 0o755)
        else:
            mode = 0o755 if kind == "x" else 0o644
            nodes[path] = Inode(FileType.FILE, mode, size_bytes=len(content))
            contents[path] = content
        if was_used:
            trace.append(FileUse(path, path, frozenset({_USES.get(kind, "readlink")})))
    tree = FileTree(nodes, lambda path: nullcontext(io.BytesIO(contents[path])))
    kept = kept_paths(tree, [trace])
    for path in kept:
        assert path in nodes and all(parent in kept for parent in parents(path)), path
    result = selection(tree, kept)
    assert result.kept_bytes + result.removed_bytes == sum(map(len, contents.values()))
