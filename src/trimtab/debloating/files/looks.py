"""Files that programs looked at, or listed, and did not open.

Where files come back, what went is listed as before, and who looks at it finds a file of that size,
owner, mode and time (`native/file_fallback/stand_in.h`). Nothing is missed then, so these may go.
"""

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from trimtab.debloating.files.keeping import Root
from trimtab.debloating.files.tree import Node, NodeKind

_LOOKS = frozenset({"stat", "readlink", "missing"})
# Of a smaller file the block is not worth what looking takes longer where it is away.
_BLOCK_BYTES = 4096
_LINKER_OF_GLIBC = "ld-linux"


def only_looks(uses: Collection[str]) -> bool:
    """Whether nobody opened what was used so."""
    return _LOOKS.issuperset(uses)


def may_be_stood_for(root: Root, node: Node) -> bool:
    """Whether a file need not stay for programs that only look at it."""
    return (
        root.comes_back
        and node.kind is NodeKind.FILE
        and node.size_bytes > _BLOCK_BYTES
        and root.names_of_files[node.file_id] < 2
    )


def all_load_the_fallback(root: Root, executed: Iterable[str]) -> bool:
    """Whether programs of a whole root are such that what brings files back is loaded into them.

    That is by glibc's dynamic linker, into programs that are linked dynamically. `executed` are
    paths of the tree.
    """
    linkers = (
        PurePosixPath(loading.interpreter or "").name
        for path in executed
        if (loading := root.loading(path)) is not None
    )
    return all(linker.startswith(_LINKER_OF_GLIBC) for linker in linkers)
