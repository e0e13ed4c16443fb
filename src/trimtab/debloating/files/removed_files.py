"""What of a tree stays and goes, each file with its group and its size counted once."""

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
    """A regular file: of which package ("" where none claims it) and which kind.

    `size_bytes` are those that stay or go with it: none where another name of the file stays, or is
    listed before, which `counts` says. Links and folders are no files.
    """

    path: str
    package: str
    kind: FileKind
    size_bytes: int
    counts: bool = True


@dataclass(frozen=True)
class FileSelection:
    """What stays and what goes of a tree, in numbers and bytes of regular files, each file once.

    `kept` and `removed` have a file with several names by each of them.
    """

    kept_files: int
    kept_bytes: int
    removed_files: int
    kept: tuple[CountedFile, ...]
    removed: tuple[CountedFile, ...]

    @property
    def removed_bytes(self) -> int:
        """What is saved."""
        return sum(file.size_bytes for file in self.removed)

    def removed_by_kind(self) -> dict[FileKind, tuple[int, int]]:
        """Return the files and bytes that go of each kind, the largest first."""
        return _largest_first((file.kind, file) for file in self.removed)

    def removed_by_package(self) -> dict[str, tuple[int, int]]:
        """Return the files and bytes that go of each package, the largest first."""
        return _largest_first((file.package, file) for file in self.removed)


def selection(tree: FileTree, kept: Kept) -> FileSelection:
    """Return what of `tree` stays and goes where the paths `kept` stay."""
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
