"""The interface of a kind of debloating target.

A kind is a module of this package with one subclass of Target; workloads name it by the module's
name (`target: {kind: ...}`).
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
    """An environment to debloat; its slim environment is a copy with slim libraries.

    Names of libraries are paths below `root` in the original, and below the slim environment's
    folder.
    """

    root: Path
    gets_byte_code: ClassVar[bool] = False  # whether Python modules without byte code are compiled

    @classmethod
    def kind(cls) -> str:
        """Return the name of the module, by which workloads name the kind."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    @abstractmethod
    def of(cls, workload: Workload) -> Self:
        """Return the environment that `workload` runs in.

        Raises UserError if the workload names none, or one that must not be debloated.
        """

    @classmethod
    @abstractmethod
    def at(cls, location: str) -> Self:
        """Return the environment at `location`, as returned by `describe`."""

    @abstractmethod
    def describe(self) -> Environment:
        """Return the kind and location, for the manifest."""

    @abstractmethod
    def check_place(self, destination: Path) -> None:
        """Raise UserError if no slim environment can be made at `destination`."""

    @abstractmethod
    def libraries(self, usages: Sequence[Usage]) -> list[ProfiledLibrary]:
        """Return its loaded libraries, by name, with the united use of `usages`.

        Raises UserError if usages disagree about a file, or if it was changed since.
        """

    @abstractmethod
    def layout(self) -> EnvironmentLayout:
        """Return the folders of the environment."""

    def tree(self, copy: Path | None = None) -> FileTree:
        """Return the tree as its programs see it, or as programs of a `copy` see it.

        Raises UserError for a kind whose files are not removed.
        """
        raise UserError(
            f"remove: files: files of a {self.kind()} are not removed; take"
            " remove: libraries (--remove libraries)"
        )

    def seen(self, place: Path) -> str:
        """Return an absolute path as its programs see it."""
        return str(place)

    def also_kept(self, workloads: Sequence[Workload]) -> set[str]:
        """Return paths that `workloads` need besides the used ones, as their programs see them."""
        return set()

    def removal(
        self,
        usages: Sequence[Usage],
        workloads: Sequence[Workload],
        options: Debloat,
        *,
        settles: bool = False,
    ) -> Removal:
        """Return the kept and removed files so that all of `usages`, of `workloads`, run as before.

        `options` name further paths to keep. With `settles` the slim environment is run, and misses
        are kept. Raises UserError if a usage does not list all files, and as `tree` and Removal.of
        do.
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

        `debloated` is the folder that Debloating writes, `share` how unchanged files are shared,
        `source` where missing pieces are. With `again` the earlier `destination` is of the same
        original, and its copies are reused. Raises UserError if the original was changed since, and
        TrimtabError if `debloated` is damaged.
        """

    def may_remove_unloaded(self, name: str) -> bool:
        """Return whether the fallback is loaded before any program loads the library `name`."""
        return True

    @abstractmethod
    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` as it runs in the original environment, or in the one at `slim`.

        `{output}` is in `run_folder`, which is emptied. In `slim` nothing of the original may run,
        and the fallback, if there is one, is loaded.
        """
