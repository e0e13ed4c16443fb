"""A root file system in a folder, such as an image's: programs run with it as their `/`.

In its workloads `command`, `python`, `workdir`, `env` and `user` are as programs inside see them.
"""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

from trimtab.binaries.elf.loading import read_loading
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.config.groups.debloat import PackageDatabase
from trimtab.config.groups.workload import Workload
from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.copies.layout import OF_THE_SYSTEM, EnvironmentLayout
from trimtab.debloating.fallback import FALLBACK_LIBRARY, FILE_FALLBACK_LIBRARY
from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.files.dpkg import add_package_list
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.debloating.removal import options_of, packages_that_stay
from trimtab.debloating.targets.folder import FolderTarget
from trimtab.errors import UserError
from trimtab.images.node import FileType, Inode
from trimtab.native import native_path
from trimtab.processes.program import Program
from trimtab.processes.root import INIT, STARTED_BY_INIT, RootFileSystem
from trimtab.profiling.runs.from_workload import absolute, program_in
from trimtab.records.manifest import Manifest
from trimtab.records.usage import Usage

# Older versions of glibc load a slim library's auxiliary too early
# (binaries.rewriting.dt_auxiliary).
_SOUND = "GLIBC_2.32"
_VERSION = re.compile(rb"GLIBC_2\.\d+(?:\.\d+)?\Z")
_PACKED = FALLBACK_LIBRARY.parent / "store"
_PRELOADED = "ld.so.preload"  # in /etc, of glibc's dynamic linker: works for setuid programs too
_PRIVILEGED = "a program with privileges of its own (setuid, capabilities) may load it"
_OF_GO = "a program of Go may load it, whose use of functions is not traced"
_MODULE = re.compile(r"/security/pam_\w+\.so\Z")  # of PAM, loaded by these names


class RootFolder(FolderTarget):
    """The root file system that `target.location` of a workload names."""

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the root that the workload names.

        Raises UserError if it is no folder, or a folder of the operating system.
        """
        root = absolute(Path(workload.target.location or ""))
        if workload.target.location is None or not root.is_dir() or root in OF_THE_SYSTEM:
            raise UserError(
                f"workload {workload.name}: target.location: {workload.target.location!r} given,"
                " expected a folder that holds a root file system, other than this machine's"
            )
        return cls(root)

    def libraries(self, usages: Sequence[Usage]) -> list[ProfiledLibrary]:
        """Return the loaded libraries of the root.

        Libraries that a privileged program may load keep all functions: such a program would not
        load a slim one, as these name the fallback by `$ORIGIN`. So do libraries that a program of
        Go may load, as its functions are not traced, and all libraries if the fallback cannot be
        loaded.
        """

        def restricted(library: ProfiledLibrary) -> ProfiledLibrary:
            why_not = self._why_no_fallback
            if not why_not and library.name in self._of_privileged_programs:
                why_not = _PRIVILEGED
            if not why_not and library.name in self._of_go_programs:
                why_not = _OF_GO
            return replace(
                library,
                why_not=library.why_not or why_not,
                data_goes=library.data_goes and not why_not,
            )

        return [restricted(library) for library in super().libraries(usages)]

    @cached_property
    def _why_no_fallback(self) -> str:
        """Why the root's own C libraries cannot load the fallback, or ""."""
        needed = _versions(native_path(FALLBACK_LIBRARY.name)) | {_SOUND}
        tree = self.tree()
        libraries = {tree.file_at(path) for path in tree.nodes if path.endswith("/libc.so.6")}
        for path in filter(None, libraries):
            try:
                missing = needed - _versions(Path(f"{self.root}{path}"))
            except ElfError:
                continue  # for another machine
            if missing:
                return f"{path} is too old for what would bring code back: no {min(missing)}"
        return ""

    @cached_property
    def _of_privileged_programs(self) -> frozenset[str]:
        tree = self.tree()
        programs = [path for path, node in tree.nodes.items() if self._is_privileged(path, node)]
        if not programs:
            return frozenset()
        modules = [path for path in tree.nodes if _MODULE.search(path)]
        return frozenset(
            path.removeprefix("/") for path in kept_paths(tree, [], programs + modules)
        )

    @cached_property
    def _of_go_programs(self) -> frozenset[str]:
        tree = self.tree()
        programs = [path for path, node in tree.nodes.items() if _is_of_go(tree, path, node)]
        if not programs:
            return frozenset()
        return frozenset(path.removeprefix("/") for path in kept_paths(tree, [], programs))

    def _is_privileged(self, path: str, node: Inode) -> bool:
        if node.kind is not FileType.FILE or not node.mode & 0o111:
            return False
        if node.mode & (stat.S_ISUID | stat.S_ISGID):
            return True
        try:
            return bool(os.getxattr(f"{self.root}{path}", "security.capability"))
        except OSError:
            return False

    def may_remove_unloaded(self, name: str) -> bool:
        """Return false: a program with privileges or another C library may load it."""
        return False

    def layout(self) -> EnvironmentLayout:
        """Return the layout; links lead where they lead for programs inside."""
        return EnvironmentLayout.of_root(self.root)

    def tree(self, copy: Path | None = None) -> FileTree:
        """Return the content of the folder, as programs inside see it, also in a copy."""
        return root_tree(self.root)

    def seen(self, place: Path) -> str:
        """Return a path below the folder as programs inside see it."""
        root = self.root.resolve()
        return f"/{place.relative_to(root)}" if place.is_relative_to(root) else str(place)

    def also_kept(self, workloads: Sequence[Workload]) -> set[str]:
        """Return the working folders of `workloads`: programs start there without a look-up."""
        return {str(Path("/", workload.workdir)) for workload in workloads}

    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` as it runs in the root, or in the slim one at `slim`.

        The slim one also sees the original, where the fallback may read it.
        """
        if slim is None:
            return program_in(RootFileSystem(self.root), workload, run_folder)
        return program_in(RootFileSystem(absolute(slim)), workload, run_folder).seeing(self.root)

    def adapt(self, copy: Path, destination: Path, debloated: Path) -> None:
        """Have every program of glibc load the file fallback; nothing else changes.

        INIT starts programs that do not load it: always if another program starts them, and from
        outside if such programs were traced. Packages that keep a file are listed for scanners.
        """
        self._list_packages(copy, debloated)
        if not (copy / FILE_FALLBACK_LIBRARY).is_file():
            return
        with DirectoryHandle.at(copy) as top, top.folder("etc", make=True) as etc:
            before = self.tree().lines_at(f"/etc/{_PRELOADED}") if etc.has(_PRELOADED) else []
            lines = [f"/{FILE_FALLBACK_LIBRARY}", *before]
            etc.write(_PRELOADED, os.fsencode("".join(f"{line}\n" for line in lines)))
        with DirectoryHandle.at(copy) as top, top.folder(INIT.parent) as ours:
            ours.write(INIT.name, native_path("trimtab-init").read_bytes(), 0o755)
            if Manifest.read(debloated / "manifest.json").started_by_init:
                ours.write(STARTED_BY_INIT.name, b"")

    def _list_packages(self, copy: Path, debloated: Path) -> None:
        if Manifest.read(debloated / "manifest.json").removed_files is None:
            return
        if options_of(debloated).package_database == PackageDatabase.KEEP:
            # A packed store has all removed files in the slim environment.
            packed = (copy / _PACKED).is_dir()
            stay = {name.removeprefix("dpkg:") for name in packages_that_stay(debloated)}
            add_package_list(copy, self.tree(), None if packed else stay)


def _is_of_go(tree: FileTree, path: str, node: Inode) -> bool:
    if node.kind is not FileType.FILE or not node.mode & 0o111:
        return False
    with tree.open_file(path) as file:
        loading = read_loading(file)
    return loading is not None and loading.of_go


def _versions(library: Path) -> set[str]:
    """Return the versions of glibc that a library defines or needs."""
    elf = read_elf(library)
    names = elf.section(".dynstr")
    texts = elf.read(names.offset, names.size).tobytes().split(b"\0") if names else []
    return {text.decode() for text in texts if _VERSION.match(text)}
