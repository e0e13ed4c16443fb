"""Targets that are a folder: the slim environment is a copy of it with slim libraries in it."""

import os
import shutil
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trimtab.config.groups.debloat import Fallback, Mode, Share
from trimtab.debloating.copying import copy_tree, take_over
from trimtab.debloating.disk_use import disk_use
from trimtab.debloating.fallback import Source, add_fallback
from trimtab.debloating.libraries import ProfiledLibrary, profiled_libraries
from trimtab.debloating.targets.base import Target
from trimtab.errors import UserError
from trimtab.files import new_folder_beside, replace_folder
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.manifest import Environment, Manifest
from trimtab.records.usage import Usage

# Folders that hold far more than what a program came with.
OF_THE_SYSTEM = {Path("/"), Path("/usr"), Path("/usr/local")}


@dataclass(frozen=True)
class Folder(Target):
    """A target that is the folder `root`: its libraries are those that lie below."""

    root: Path

    @classmethod
    def at(cls, location: str) -> Self:
        """Return the target that is the folder `location`."""
        return cls(Path(location))

    def describe(self) -> Environment:
        """Return the kind, and the folder as location."""
        return Environment(self.kind(), str(self.root))

    def libraries(self, usages: Sequence[Usage]) -> list[ProfiledLibrary]:
        """Return the libraries below the folder that were loaded."""
        return profiled_libraries(usages, self.root)

    def build(
        self,
        debloated: Path,
        share: Share,
        source: Source,
        destination: Path,
        *,
        again: bool = False,
    ) -> None:
        """Make `destination` a runnable copy of the folder, slim libraries inside.

        They are one file with those in `debloated`/libraries. With mode punch there is no fallback.
        An earlier `destination` is replaced when the new one is whole. Raises UserError when
        `destination` lies inside the folder, and as Target.build does.
        """
        manifest = Manifest.read(debloated / "manifest.json")
        destination = Path(os.path.abspath(destination))
        self._check(manifest, destination)
        partial = new_folder_beside(destination)
        try:
            earlier = destination if again and not destination.is_symlink() else None
            shared = copy_tree(self.root, partial, set(manifest.files), share, earlier)
            take_over(debloated / "libraries", partial, manifest.files)
            if source.kind != Fallback.NONE and manifest.mode != Mode.PUNCH:
                add_fallback(partial, self.root, manifest, debloated / "spans", source)
            self.adapt(partial, destination)
            before, after = disk_use(self.root), disk_use(partial)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        replace_folder(partial, destination)
        linked_bytes = sum(after[file] for file in after.keys() & before.keys())
        BuiltEnvironment(
            target=manifest.target,
            before_bytes=sum(before.values()),
            after_bytes=sum(after.values()),
            shared_bytes=linked_bytes + shared.reflinked_bytes,
            linked=shared.linked,
        ).write(debloated / "environment.json")

    @abstractmethod
    def adapt(self, copy: Path, destination: Path) -> None:
        """Make `copy` fit to run as `destination`, and have its programs load the fallback."""

    def _check(self, manifest: Manifest, destination: Path) -> None:
        if destination.is_relative_to(self.root) or self.root.is_relative_to(destination):
            raise UserError(f"{destination}: inside the environment {self.root} that it copies")
        for name, file in manifest.files.items():
            original = self.root / name
            if not original.is_file() or original.stat().st_size != file.size_before_bytes:
                raise UserError(f"{original}: not the library that was debloated; profile it again")
