"""What a kind of debloating target has to offer.

A kind is a module of this package that holds one subclass of Target; it is called by the module's
name wherever a workload names it (`target: {kind: ...}`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from trimtab.config.groups.debloat import Debloat, Share
from trimtab.config.groups.workload import Workload
from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.debloating.fallback import Source
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.debloating.removal import Removal
from trimtab.errors import UserError
from trimtab.processes.program import Program
from trimtab.records.manifest import Environment
from trimtab.records.usage import Usage


class Target(ABC):
    """An environment that is debloated: a copy of it with slim libraries is its slim environment.

    Names of libraries are paths below `root` in the original, and below the slim environment's
    folder there.
    """

    root: Path
    gets_byte_code: ClassVar[bool] = False  # of Python modules that have none

    @classmethod
    def kind(cls) -> str:
        """Return the name of the module, by which workloads name the kind."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    @abstractmethod
    def of(cls, workload: Workload) -> Self:
        """Return the environment that `workload` runs in.

        Raises UserError where the workload names none, or one that must not be debloated.
        """

    @classmethod
    @abstractmethod
    def at(cls, location: str) -> Self:
        """Return the environment at `location`, as `describe` gave it."""

    @abstractmethod
    def describe(self) -> Environment:
        """Return its kind and location, which a manifest keeps."""

    @abstractmethod
    def check_place(self, destination: Path) -> None:
        """Raise UserError where no slim environment can be made at `destination`."""

    @abstractmethod
    def libraries(self, usages: Sequence[Usage]) -> list[ProfiledLibrary]:
        """Return its libraries that were loaded, by name, with all that any of `usages` used.

        Raises UserError when usages disagree about a file, or it was changed since.
        """

    @abstractmethod
    def layout(self) -> EnvironmentLayout:
        """Return the folders that it consists of."""

    def tree(self, copy: Path | None = None) -> FileTree:
        """Return what is in it, as its programs see it, or as those of a `copy` see the same there.

        Raises UserError for a kind of which no files are removed.
        """
        raise UserError(
            f"remove: files: files of a {self.kind()} are not removed; take"
            " remove: libraries (--remove libraries)"
        )

    def seen(self, place: Path) -> str:
        """Return the path by which its programs know an absolute path."""
        return str(place)

    def also_kept(self, workloads: Sequence[Workload]) -> set[str]:
        """Return what `workloads` need besides what they use, as their programs see it."""
        return set()

    def removal(
        self,
        usages: Sequence[Usage],
        workloads: Sequence[Workload],
        options: Debloat,
        *,
        settles: bool = False,
    ) -> Removal:
        """Return which of its files stay and go so that all of `usages` run as they did.

        They are of `workloads`; `options` name what stays besides. With `settles` the slim
        environment is run, and what it asks for stays. Raises UserError where a usage does not list
        all files, and as `tree` and Removal.of do.
        """
        libraries = {library.path for usage in usages for library in usage.libraries}
        also = {self.seen(Path(path)) for path in libraries}
        also |= self.also_kept(workloads)
        compiles = settles and self.gets_byte_code
        return Removal.of(self.tree(), usages, also, workloads, options, compiles=compiles)

    @abstractmethod
    def build(
        self,
        debloated: Path,
        share: Share,
        source: Source,
        destination: Path,
        *,
        again: bool = False,
    ) -> None:
        """Make `destination` the slim environment, whole or not at all, and write environment.json.

        `debloated` is the folder that Debloating writes, `share` how unchanged files are taken
        over, and `source` where a program finds what it misses. With `again` the earlier
        `destination` is of the same original, and copies in it are taken over. Raises UserError
        when the original was changed since, and TrimtabError when `debloated` is damaged.
        """

    def may_remove_unloaded(self, name: str) -> bool:
        """Return whether the fallback is at work before anything loads the library `name`."""
        return True

    @abstractmethod
    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` as it runs in the original environment, or in the one at `slim`.

        `{output}` is in `run_folder`, which is emptied. In `slim` nothing of the original may be
        run, and the fallback, where the environment has one, is at work.
        """
