"""A Python environment, such as a venv: the folder above the `bin` of its interpreter."""

import os
from pathlib import Path
from typing import Self

from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import FALLBACK_LIBRARY
from trimtab.debloating.targets.folder import OF_THE_SYSTEM, Folder
from trimtab.errors import UserError
from trimtab.files import whole_file
from trimtab.profiling.runs.from_workload import absolute, moved, program_of
from trimtab.profiling.runs.program import Program

_SCRIPT_BYTES = 1 << 20
_HOOK = "00_trimtab_fallback.pth"  # before the other hooks, in the order that Python runs them
# Of the limited API's kind, so that interpreters with other objects (free-threaded) refuse it.
_MODULE = "trimtab_fallback.abi3.so"


class PythonPrefix(Folder):
    """The environment of a workload's interpreter, `python`."""

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the environment of the workload's interpreter: the folder above its `bin`.

        Raises UserError for an interpreter of the operating system, whose folder holds far more
        than a Python environment, and for a path that is no interpreter in a `bin` folder.
        """
        if workload.python is None:
            raise UserError(f"workload {workload.name}: python: missing; name ENV/bin/python")
        python = absolute(Path(workload.python))
        prefix = python.parent.parent
        if not python.is_file() or python.parent.name != "bin":
            raise UserError(f"{python}: not an interpreter in the bin folder of an environment")
        if prefix in OF_THE_SYSTEM:
            raise UserError(
                f"{python} belongs to the operating system; make an environment of its own"
                f" (`{python} -m venv ENV`), install the program there and name ENV/bin/python"
            )
        return cls(prefix)

    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` as it is, or with all that it names of the environment from `slim`."""
        program = program_of(workload, run_folder)
        return moved(program, self.root, slim) if slim else program

    def adapt(self, copy: Path, destination: Path) -> None:
        """Rename the environment in the scripts of `bin`, and let Python load the fallback first.

        Raises UserError when there is a fallback and no `site-packages`.
        """
        _rename_in_scripts(copy / "bin", self.root, destination)
        if (copy / FALLBACK_LIBRARY).is_file():
            _load_fallback(copy)


def _rename_in_scripts(folder: Path, old: Path, new: Path) -> None:
    """Scripts name their environment: `#!ENV/bin/python`, `VIRTUAL_ENV=ENV` in `activate`."""
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _SCRIPT_BYTES:
            continue
        text = path.read_bytes()
        if b"\0" not in text and bytes(old) in text:
            status = path.stat()
            path.unlink()  # it may be shared with the original
            path.write_bytes(text.replace(bytes(old), bytes(new)))
            path.chmod(status.st_mode)


def _load_fallback(environment: Path) -> None:
    packages = sorted(environment.glob("lib/python3*/site-packages"))
    if not packages:
        raise UserError(f"{environment}: no lib/python3*/site-packages, so no Python to fall back")
    for package in packages:
        (package / _MODULE).unlink(missing_ok=True)
        (package / _MODULE).symlink_to(os.path.relpath(environment / FALLBACK_LIBRARY, package))
        with whole_file(package / _HOOK) as temporary:
            temporary.write_text("import trimtab_fallback\n")
