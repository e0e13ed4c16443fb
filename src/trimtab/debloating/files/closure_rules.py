"""The interface of the closure's rules: the path that stays, and the paths that it needs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from trimtab.binaries.elf.loading import Loading, read_loading
from trimtab.debloating.files.linker import folders_of_linker
from trimtab.debloating.files.packages import conda_files
from trimtab.debloating.files.python_distributions import Distributions
from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType, Inode


class KeepReason(StrEnum):
    """Why a path stays."""

    USED = "used in a profiled run"
    ASKED = "asked for"
    PARENT = "folder above another that stays"
    LINK = "a link leads to it"
    LISTED = "in a folder that was listed"
    SCRIPT = "interpreter of a script"
    INTERPRETER = "dynamic linker of a program"
    LIBRARY = "library that a program needs"
    LINKER = "configuration of the dynamic linker"
    SERVICE = "loaded by the C library when it needs it"
    USERS = "users and groups"
    IDENTITY = "names the system"
    MOUNT_POINT = "mount point"
    DATABASE = "package database"
    LOCALE = "locale"
    TERMINAL = "description of terminals"
    CERTIFICATES = "certificates"
    TIME_ZONE = "time zone"
    START = "a start of Python may need it"
    PACKAGE = "makes a folder a Python package"
    METADATA = "metadata of a Python distribution"
    BYTE_CODE = "byte code of a module, or its source"


class Dependency(NamedTuple):
    """An absolute path, as programs see it, that stays if it exists, with the way to it.

    With `runs` it stays as a program or a library that is run.
    """

    path: str
    reason: KeepReason
    runs: bool = False


@dataclass(frozen=True)
class ClosureInput:
    """A tree and the environment variables of its programs.

    `comes_back`: removed files are restored for all programs. `keeps_databases`: the package data
    that scanners read stays with a package's files. `compiles`: modules without byte code are
    compiled.
    """

    tree: FileTree
    environment: Mapping[str, str]
    comes_back: bool = False
    keeps_databases: bool = True
    compiles: bool = False

    @cached_property
    def names_of_files(self) -> Counter[Inode]:
        """How many names each file has."""
        return Counter(self.tree.nodes.values())

    @cached_property
    def linker_folders(self) -> tuple[str, ...]:
        """The folders where the linkers search for any program's libraries."""
        return folders_of_linker(self.tree)

    @cached_property
    def distributions(self) -> Distributions:
        """The installed Python distributions."""
        return Distributions.of(self.tree)

    @cached_property
    def conda_records(self) -> dict[str, str]:
        """The path of conda's record of the package, for each file of a conda package."""
        return {path: record for path, record, _ in conda_files(self.tree)}

    @cached_property
    def _loadings(self) -> dict[str, Loading | None]:
        return {}

    def loading(self, path: str) -> Loading | None:
        """Return the loading needs of the ELF file at a path of the tree; None for other files."""
        if path not in self._loadings:
            with self.tree.open_file(path) as file:
                self._loadings[path] = read_loading(file)
        return self._loadings[path]


@dataclass(frozen=True)
class KeptPath:
    """A path of the tree that stays: how the traced runs used it, and whether it is run."""

    path: str
    node: Inode
    uses: frozenset[str]
    runs: bool

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.node.kind is FileType.FILE

    @property
    def name(self) -> str:
        """The last component of the path."""
        return self.path.rpartition("/")[2]


Rule = Callable[[ClosureInput, KeptPath], Iterator[Dependency]]
