"""Files that programs looked up or listed but did not open.

Where files are restored, a removed file is listed as before, and a look-up finds a stand-in of its
size, owner, mode and time (`native/file_fallback/stand_in.h`). Nothing is restored then, so such
files may be removed.
"""

from collections.abc import Collection, Iterable

from trimtab.binaries.elf.loading import Loading, read_loading
from trimtab.debloating.files.closure_rules import ClosureInput
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType, Inode

_LOOKS = frozenset({"stat", "readlink", "missing"})
_READS = _LOOKS | {"read"}
# Removing a smaller file saves too little for the slower look-up.
_BLOCK_BYTES = 4096


def only_looks(uses: Collection[str]) -> bool:
    """Whether these uses are all look-ups: nobody opened the file."""
    return _LOOKS.issuperset(uses)


def only_reads(uses: Collection[str]) -> bool:
    """Whether these uses are no more than Python does with a source."""
    return _READS.issuperset(uses)


def may_be_stood_for(root: ClosureInput, node: Inode) -> bool:
    """Whether a stand-in is enough for programs that only look the file up."""
    return (
        root.comes_back
        and node.kind is FileType.FILE
        and node.size_bytes > _BLOCK_BYTES
        and root.names_of_files[node] < 2
    )


def all_are_heard(tree: FileTree, executed: Iterable[str]) -> bool:
    """Whether the file fallback intercepts the calls of all `executed` programs of a whole root.

    glibc's dynamic linker loads it into dynamically linked programs. Programs of Go make most
    system calls themselves, including calls that no run showed. `executed` are paths of the tree.
    """
    files = (path for path in executed if tree.nodes[path].kind is FileType.FILE)
    loadings = (_loading(tree, path) for path in files)
    return all(
        loading.by_glibc and not loading.of_go for loading in loadings if loading is not None
    )


def _loading(tree: FileTree, path: str) -> Loading | None:
    with tree.open_file(path) as file:
        return read_loading(file)
