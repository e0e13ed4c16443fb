"""A folder with a native program and its shared libraries, such as `bin/app` and `lib/*.so`.

The program finds them by a run path that begins with `$ORIGIN`, or by a variable such as
LD_LIBRARY_PATH. Its compacted libraries load the fallback (docs/methods/fallback.md); verification
also preloads it, for libraries of other modes.
"""

import stat
from dataclasses import replace
from pathlib import Path
from typing import Self

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError, UnreadableError
from trimtab.config.groups.workload import Workload
from trimtab.debloating.copies.layout import OF_THE_SYSTEM, EnvironmentLayout, LayoutEntry
from trimtab.debloating.fallback import FALLBACK_LIBRARY, FILE_FALLBACK_LIBRARY
from trimtab.debloating.targets.folder import FolderTarget
from trimtab.errors import UserError
from trimtab.native import with_preload
from trimtab.processes.program import Program
from trimtab.profiling.runs.from_workload import absolute, moved, program_of


class NativeFolder(FolderTarget):
    """The folder that `target.location` of a workload names."""

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the folder that the workload names.

        Raises UserError if it is no folder, or one of the operating system. Also if a program or
        library in it finds others by the folder's own path: a copy would load the original's.
        """
        root = absolute(Path(workload.target.location or ""))
        if workload.target.location is None or not root.is_dir() or root in OF_THE_SYSTEM:
            raise UserError(
                f"workload {workload.name}: target.location: {workload.target.location!r} given,"
                " expected a folder of its own that holds a program and its libraries"
            )
        for entry in EnvironmentLayout.of(root).entries():
            if _finds_others_in(entry, root):
                raise UserError(
                    f"{root / entry.name}: finds libraries by the path {root}, also in a copy of"
                    " it; link it with a run path from $ORIGIN, as -Wl,-rpath,'$ORIGIN/../lib'"
                )
        return cls(root)

    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` unchanged, or with the paths of the folder moved to `slim`."""
        program = program_of(workload, run_folder)
        if slim is None:
            return program
        program = moved(program, self.root, slim)
        for library in (FALLBACK_LIBRARY, FILE_FALLBACK_LIBRARY):
            fallback = absolute(slim / library)
            if fallback.is_file():
                environment = with_preload(program.environment, fallback)
                program = replace(program, environment=environment)
        return program

    def adapt(self, copy: Path, destination: Path, debloated: Path) -> None:
        """Leave the copy unchanged: `program` moves paths and preloads the fallback."""


def _finds_others_in(entry: LayoutEntry, root: Path) -> bool:
    try:
        elf = read_elf(Path(entry.path)) if stat.S_ISREG(entry.status.st_mode) else None
    except UnreadableError:
        raise
    except ElfError:
        return False
    names = elf.section(".dynstr") if elf else None
    if elf is None or names is None:
        return False
    text = elf.read(names.offset, names.size).tobytes()
    return bytes(root) in text or bytes(root.resolve()) in text
