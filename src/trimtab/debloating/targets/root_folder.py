"""A whole root file system in a folder, such as an image's: programs run with it as their `/`.

In its workloads `command`, `python`, `workdir`, `env` and `user` are as programs inside see them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from trimtab.config.groups.workload import Workload
from trimtab.debloating.copies.layout import OF_THE_SYSTEM, Layout
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.files.tree import Tree
from trimtab.debloating.targets.folder import Folder
from trimtab.errors import UserError
from trimtab.profiling.runs.from_workload import absolute, program_in
from trimtab.profiling.runs.program import Program
from trimtab.profiling.runs.root import Root


class RootFolder(Folder):
    """The root file system that `target.location` of a workload names."""

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the root that the workload names.

        Raises UserError for what is no folder, and for one of the operating system.
        """
        root = absolute(Path(workload.target.location or ""))
        if workload.target.location is None or not root.is_dir() or root in OF_THE_SYSTEM:
            raise UserError(
                f"workload {workload.name}: target.location: {workload.target.location!r} given,"
                " expected a folder that holds a root file system, other than this machine's"
            )
        return cls(root)

    def layout(self) -> Layout:
        """Return where it is; links in it lead where they lead for programs inside."""
        return Layout.of_root(self.root)

    def tree(self, copy: Path | None = None) -> Tree:
        """Return what is in the folder, as programs inside see it, also in a copy."""
        return root_tree(self.root)

    def seen(self, place: Path) -> str:
        """Return the path inside of one below the folder."""
        root = self.root.resolve()
        return f"/{place.relative_to(root)}" if place.is_relative_to(root) else str(place)

    def also_kept(self, workloads: Sequence[Workload]) -> set[str]:
        """Return the working folders of `workloads`, which programs start in without a look-up."""
        return {str(Path("/", workload.workdir)) for workload in workloads}

    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` as it runs in the root, or in the one at `slim`.

        There the original is seen too, where the fallback may read it.
        """
        if slim is None:
            return program_in(Root(self.root), workload, run_folder)
        return program_in(Root(absolute(slim)), workload, run_folder).seeing(self.root)

    def adapt(self, copy: Path, destination: Path) -> None:
        """Leave the copy as it is: inside, it has the paths of the original."""
