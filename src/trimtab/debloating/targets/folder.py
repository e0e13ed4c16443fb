"""Targets that are a folder: the slim environment is a copy with slim libraries."""

import os
import stat
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from trimtab.config.groups.debloat import Fallback, Mode, Share
from trimtab.debloating.copies.copying import copy_tree, take_over
from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.copies.layout import OF_THE_SYSTEM, EnvironmentLayout
from trimtab.debloating.fallback import (
    IDENTITY_FILE,
    Source,
    add_fallback,
    fallback_digests,
    not_as_debloated,
)
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import prefix_tree, spellings
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.libraries.profiled import ProfiledLibrary, profiled_libraries
from trimtab.debloating.original_identity import identity_bytes, identity_of
from trimtab.debloating.removal import removed_paths
from trimtab.debloating.targets.base import Target
from trimtab.disk_use import disk_use
from trimtab.errors import TrimtabError, UserError
from trimtab.files import new_folder_beside, remove_tree, replace_folder, sha256_of_all
from trimtab.records.built_environment import BuiltEnvironment, OriginalIdentity
from trimtab.records.manifest import Environment, Manifest
from trimtab.records.usage import Usage


@dataclass(frozen=True)
class FolderTarget(Target):
    """A target that is the folder `root`, with the libraries below it.

    Folders that match the patterns `own` belong to it even if they are links out of it: the slim
    environment has copies of the links' targets.
    """

    root: Path
    own: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def at(cls, location: str) -> Self:
        """Return the target that is the folder `location`.

        Raises UserError if it is no folder, or a folder of the operating system.
        """
        root = Path(location)
        if not root.is_absolute() or not root.is_dir() or root.resolve() in OF_THE_SYSTEM:
            raise UserError(
                f"{location}: not the folder of an environment, as a manifest.json says; debloat"
                " again"
            )
        return cls(root)

    def describe(self) -> Environment:
        """Return the kind, and the folder as location."""
        return Environment(self.kind(), str(self.root))

    def check_place(self, destination: Path) -> None:
        """Raise UserError if `destination` lies inside the folder: a copy cannot contain itself."""
        self._check_place(self.layout(), Path(os.path.abspath(destination)))

    def libraries(self, usages: Sequence[Usage]) -> list[ProfiledLibrary]:
        """Return the loaded libraries below the folder."""
        return profiled_libraries(usages, self.root, self.own)

    def layout(self) -> EnvironmentLayout:
        """Return the folder's layout, with its links as they lead in the copy."""
        return EnvironmentLayout.of(self.root, self.own)

    def tree(self, copy: Path | None = None) -> FileTree:
        """Return the content of the folder, without the targets of links out of it."""
        tree = prefix_tree(self.root)
        return tree if copy is None else replace(tree, tops=spellings(copy))

    def build(
        self,
        debloated: Path,
        share: Share,
        source: Source,
        destination: Path,
        *,
        again: bool = False,
    ) -> None:
        """Make `destination` a runnable copy of the folder, with the slim libraries.

        These are hard links to `debloated`/libraries. Files that files.parquet there lists as
        removed are left out. With mode punch there is no fallback. An earlier `destination` is
        replaced when the new one is complete. Raises UserError if `destination` lies inside the
        folder, or a folder of it cannot be copied, and as Target.build does.
        """
        manifest = Manifest.read(debloated / "manifest.json")
        destination = Path(os.path.abspath(destination))
        layout = self.layout()
        self._check(manifest, layout, debloated / "libraries", destination)
        has_fallback = source.kind != Fallback.NONE and manifest.mode != Mode.PUNCH
        partial = new_folder_beside(destination)
        try:
            earlier = destination if again and not destination.is_symlink() else None
            removed = set() if manifest.removed_files is None else removed_paths(debloated)
            if has_fallback and manifest.removed_files is not None:
                removed |= self.taken_over(debloated)
            shared = copy_tree(layout, partial, removed.union(manifest.files), share, earlier)
            take_over(debloated / "libraries", partial, manifest.files)
            if has_fallback and manifest.files:  # without a slim library no program would load it
                add_fallback(partial, self.root, manifest, debloated / "spans", source)
            tree = self.tree() if has_fallback and removed else None
            if tree is not None:
                gone = {f"/{name}" for name in removed} & tree.nodes.keys()
                add_file_fallback(partial, self.root, tree, gone, source)
            lost = removed.union(manifest.files)
            identity = None
            if has_fallback and lost and source.kind == Fallback.ORIGINAL:
                identity = identity_of(self.root, tree or self.tree(), lost)
                _add_identity(partial, identity)
            self.adapt(partial, destination, debloated)
            fallback = fallback_digests(partial)
            before, after = disk_use(layout.folders), disk_use([partial])
            replace_folder(partial, destination)
        except BaseException:
            remove_tree(partial)
            raise
        linked_bytes = sum(after[file] for file in after.keys() & before.keys())
        BuiltEnvironment(
            target=manifest.target,
            before_bytes=sum(before.values()),
            after_bytes=sum(after.values()),
            shared_bytes=linked_bytes + shared.reflinked_bytes,
            linked=shared.linked,
            fallback=fallback,
            source=source.kind.value,
            original=identity,
        ).write(debloated / "environment.json")

    def taken_over(self, debloated: Path) -> set[str]:
        """Return the kept files whose content `adapt` puts elsewhere; they come back if asked for.

        `debloated` is the folder that Debloating writes.
        """
        return set()

    @abstractmethod
    def adapt(self, copy: Path, destination: Path, debloated: Path) -> None:
        """Adapt `copy` to run as `destination`, and have its programs load the fallback.

        `debloated` is the folder that Debloating writes.
        """

    def _check_place(self, layout: EnvironmentLayout, destination: Path) -> None:
        place = destination.parent.resolve() / destination.name
        if layout.name_of(place) is not None or any(
            folder.is_relative_to(spelling)
            for folder in (self.root, *layout.folders)
            for spelling in (destination, place)
        ):
            raise UserError(
                f"{destination}: the slim environment cannot be in the environment {self.root} that"
                " it is a copy of, nor in its place; choose a folder elsewhere"
            )

    def _check(
        self, manifest: Manifest, layout: EnvironmentLayout, libraries: Path, destination: Path
    ) -> None:
        self._check_place(layout, destination)
        for name, file in manifest.files.items():
            original = self.root / name
            if not original.is_file() or original.stat().st_size != file.size_before_bytes:
                raise not_as_debloated(original)
        digests = sha256_of_all(self.root / name for name in manifest.files)
        for name, file in manifest.files.items():
            if digests[self.root / name] != file.sha256_before:
                raise not_as_debloated(self.root / name)
            _refuse_more_rights(libraries / name, self.root / name)


def _add_identity(copy: Path, identity: OriginalIdentity) -> None:
    """Let programs of the slim environment identify the original that they may need."""
    with DirectoryHandle.at(copy) as top, top.folder(IDENTITY_FILE.parent, make=True) as ours:
        ours.write(IDENTITY_FILE.name, identity_bytes(identity))


def _refuse_more_rights(slim: Path, original: Path) -> None:
    """Refuse a slim library that is no regular file or has more rights than the original."""
    try:
        mode = slim.lstat().st_mode
    except FileNotFoundError:
        raise TrimtabError(f"{slim}: missing; debloat again") from None
    if not stat.S_ISREG(mode) or stat.S_IMODE(mode) & ~stat.S_IMODE(original.stat().st_mode):
        raise TrimtabError(f"{slim}: no file of ours, or with more rights; debloat again")
