"""Files that programs looked at, or listed, and did not open.

Where files come back, what went is listed as before, and who looks at it finds a file of that size,
owner, mode and time (`native/file_fallback/stand_in.h`). Nothing is missed then, so these may go.
"""

from collections.abc import Collection, Iterable

from trimtab.binaries.elf.loading import Loading, read_loading
from trimtab.debloating.files.closure_rules import ClosureInput
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType, Inode

_LOOKS = frozenset({"stat", "readlink", "missing"})
_READS = _LOOKS | {"read"}
# Of a smaller file the block is not worth what looking takes longer where it is away.
_BLOCK_BYTES = 4096


def only_looks(uses: Collection[str]) -> bool:
    """Whether nobody opened what was used so."""
    return _LOOKS.issuperset(uses)


def only_reads(uses: Collection[str]) -> bool:
    """Whether nobody did more with what was used so than Python does with a source."""
    return _READS.issuperset(uses)


def may_be_stood_for(root: ClosureInput, node: Inode) -> bool:
    """Whether a file need not stay for programs that only look at it."""
    return (
        root.comes_back
        and node.kind is FileType.FILE
        and node.size_bytes > _BLOCK_BYTES
        and root.names_of_files[node] < 2
    )


def all_are_heard(tree: FileTree, executed: Iterable[str]) -> bool:
    """Whether the programs of a whole root are such that what brings files back hears their calls.

    It is loaded by glibc's dynamic linker, into programs that are linked dynamically; one of Go
    makes most calls itself, those too that no run showed. `executed` are paths of the tree.
    """
    files = (path for path in executed if tree.nodes[path].kind is FileType.FILE)
    loadings = (_loading(tree, path) for path in files)
    return all(
        loading.by_glibc and not loading.of_go for loading in loadings if loading is not None
    )


def _loading(tree: FileTree, path: str) -> Loading | None:
    with tree.open_file(path) as file:
        return read_loading(file)
