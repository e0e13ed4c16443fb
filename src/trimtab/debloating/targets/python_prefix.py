"""A Python environment, such as a venv, one of uv's or of conda's: the folder above its `bin`."""

import os
import re
from collections.abc import Iterator
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
_FIRST_LINE_BYTES = 127  # that Linux before 5.1 reads of a script
# Files beside those in `bin` that name the environment: import paths, what editable installs of
# projects inside it left, and how Jupyter starts its kernels.
_NAME_IT = (
    "lib/python3*/site-packages/*.pth",
    "lib/python3*/site-packages/*.egg-link",
    "lib/python3*/site-packages/__editable__*.py",
    "share/jupyter/kernels/*/kernel.json",
)
_HOOK = "00_trimtab_fallback.pth"  # before the other hooks, in the order that Python runs them
# Of the limited API's kind, so that interpreters with other objects (free-threaded) refuse it.
_MODULE = "trimtab_fallback.abi3.so"


class PythonPrefix(Folder):
    """The environment of a workload's interpreter, `python`."""

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the environment of the workload's interpreter: the folder above its `bin`.

        Raises UserError for an interpreter of the operating system or of conda's base, whose
        folders hold far more than a Python environment, and for a path that is no interpreter in
        the `bin` folder of an environment.
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
        if (prefix / "conda-meta").is_dir() and any(map(Path.is_dir, _of_base(prefix))):
            raise UserError(
                f"{prefix} is the base of conda, with other environments and packages in it; make"
                " an environment of its own (`conda create -p ENV python`), install the program"
                " there and name ENV/bin/python"
            )
        interpreter = python.resolve()
        in_venv = (prefix / "pyvenv.cfg").is_file()
        if not in_venv and not interpreter.is_relative_to(prefix.resolve()):
            raise UserError(
                f"{python} is a link to {interpreter}, and its folder no environment; name"
                " the interpreter itself"
            )
        return cls(prefix)

    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` as it is, or with all that it names of the environment from `slim`."""
        program = program_of(workload, run_folder)
        return moved(program, self.root, slim) if slim else program

    def may_remove_unloaded(self, name: str) -> bool:
        """Return whether it is of a package: Python loads others before, and other programs do."""
        return "site-packages" in Path(name).parts

    def adapt(self, copy: Path, destination: Path) -> None:
        """Rename the environment where it names itself, and let Python load the fallback first.

        Raises UserError when there is a fallback and no `site-packages`.
        """
        _rename(copy, {self.root, self.root.resolve()}, destination)
        if (copy / FALLBACK_LIBRARY).is_file():
            _load_fallback(copy)


def _of_base(prefix: Path) -> Iterator[Path]:
    return (prefix / name for name in ("envs", "pkgs"))


def _rename(copy: Path, olds: set[Path], new: Path) -> None:
    """Scripts name their environment: `#!ENV/bin/python`, `VIRTUAL_ENV=ENV` in `activate`."""
    names = b"|".join(re.escape(bytes(old)) for old in sorted(olds, reverse=True))
    whole = re.compile(rb"(?<![\w.-])(?:" + names + rb")(?![\w.-])")  # and no longer path
    others = (path for pattern in _NAME_IT for path in copy.glob(pattern))
    for path in (*(copy / "bin").iterdir(), *others):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _SCRIPT_BYTES:
            continue
        text = path.read_bytes()
        if b"\0" not in text and whole.search(text):
            status = path.stat()
            path.unlink()  # it may be shared with the original
            path.write_bytes(_startable(whole.sub(lambda _: bytes(new), text), bytes(new)))
            path.chmod(status.st_mode)


def _startable(script: bytes, environment: bytes) -> bytes:
    """Where Linux starts no interpreter, by a path that is long or has a space, a shell does."""
    line, _, rest = script.partition(b"\n")
    python = re.match(rb"#!(" + re.escape(environment) + rb"/bin/python[\w.]*)(.*)", line)
    if not python or (b" " not in environment and len(line) <= _FIRST_LINE_BYTES):
        return script
    start = b"'''exec' \"" + python[1] + b'"' + python[2] + b' "$0" "$@"\n'
    return b"#!/bin/sh\n" + start + b"' '''\n" + rest


def _load_fallback(environment: Path) -> None:
    packages = sorted(environment.glob("lib/python3*/site-packages"))
    if not packages:
        raise UserError(f"{environment}: no lib/python3*/site-packages, so no Python to fall back")
    for package in packages:
        (package / _MODULE).unlink(missing_ok=True)
        (package / _MODULE).symlink_to(os.path.relpath(environment / FALLBACK_LIBRARY, package))
        with whole_file(package / _HOOK) as temporary:
            temporary.write_text("import trimtab_fallback\n")
