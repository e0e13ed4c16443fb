"""The kept and removed files of a tree, each with its package and kind, its size counted once."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from trimtab.debloating.files.closure import Kept
from trimtab.debloating.files.kinds_of_files import FileKind, kind_of_file
from trimtab.debloating.files.packages import packages_of
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType, Inode

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A regular file, with its package ("" if none claims it) and its kind.

    `size_bytes` is 0, and `counts` false, where another name of the file stays or is listed before.
    Links and folders are not counted as files.
    """

    path: str
    package: str
    kind: FileKind
    size_bytes: int
    counts: bool = True


@dataclass(frozen=True)
class FileSelection:
    """Kept and removed files of a tree, in numbers and bytes of regular files, each file once.

    `kept` and `removed` list a file under each of its names.
    """

    kept_files: int
    kept_bytes: int
    removed_files: int
    kept: tuple[CountedFile, ...]
    removed: tuple[CountedFile, ...]

    @property
    def removed_bytes(self) -> int:
        """The number of bytes that are saved."""
        return sum(file.size_bytes for file in self.removed)

    def removed_by_kind(self) -> dict[FileKind, tuple[int, int]]:
        """Return the number and bytes of removed files of each kind, the largest first."""
        return _largest_first((file.kind, file) for file in self.removed)

    def removed_by_package(self) -> dict[str, tuple[int, int]]:
        """Return the number and bytes of removed files of each package, the largest first."""
        return _largest_first((file.package, file) for file in self.removed)


def selection(tree: FileTree, kept: Kept) -> FileSelection:
    """Return the kept and removed files of `tree` if the paths `kept` stay."""
    packages = packages_of(tree)
    counted: set[Inode] = set()
    stays: list[CountedFile] = []
    goes: list[CountedFile] = []
    kept_files = kept_bytes = removed_files = 0
    files = sorted(path for path, node in tree.nodes.items() if node.kind is FileType.FILE)
    for path in sorted(files, key=lambda path: path not in kept):
        node = tree.nodes[path]
        is_new = node not in counted
        counted.add(node)
        size_bytes = node.size_bytes if is_new else 0
        package = packages.get(path, "")
        file = CountedFile(path, package, kind_of_file(path), size_bytes, is_new)
        if path in kept:
            kept_files += is_new
            kept_bytes += size_bytes
            stays.append(file)
        else:
            removed_files += is_new
            goes.append(file)
    return FileSelection(kept_files, kept_bytes, removed_files, tuple(stays), tuple(goes))


def _largest_first(files: Iterable[tuple[_Key, CountedFile]]) -> dict[_Key, tuple[int, int]]:
    numbers: dict[_Key, int] = defaultdict(int)
    sizes: dict[_Key, int] = defaultdict(int)
    for key, file in files:
        numbers[key] += file.counts
        sizes[key] += file.size_bytes
    order = sorted(sizes, key=lambda key: (-sizes[key], str(key)))
    return {key: (numbers[key], sizes[key]) for key in order}
