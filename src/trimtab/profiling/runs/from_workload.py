"""From a workload's YAML to the program that is run."""

import os
import shutil
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.runs.program import Marks, OutputComparison, Program


def program_of(workload: Workload, run_folder: Path, python: Path | None = None) -> Program:
    """Return the program that `workload` describes, with `{output}` in `run_folder`.

    `python` takes the place of the workload's own interpreter, as a slim environment's does.
    `run_folder` is emptied. Relative paths start at the current folder. Raises UserError when the
    interpreter, the working directory or the command does not exist.
    """
    named = python or workload.python
    interpreter = absolute(Path(named)) if named else None
    if interpreter and not interpreter.is_file():
        raise UserError(f"workload {workload.name}: python: {interpreter} does not exist")
    workdir = absolute(Path(workload.workdir))
    if not workdir.is_dir():
        raise UserError(f"workload {workload.name}: workdir: {workdir} is not a folder")
    shutil.rmtree(run_folder, ignore_errors=True)
    run_folder.mkdir(parents=True)
    output = str(run_folder.resolve())

    def placed(text: str | None) -> str | None:
        return None if text is None else text.replace("{output}", output)

    path, first = os.environ.get("PATH", os.defpath), workload.command[0]
    if interpreter:
        path, first = f"{interpreter.parent}:{path}", _moved(workload, interpreter)
    command = tuple(word.replace("{output}", output) for word in (first, *workload.command[1:]))
    if not shutil.which(workdir / command[0] if "/" in command[0] else command[0], path=path):
        raise UserError(
            f"workload {workload.name}: command: {command[0]} was not found"
            f" as a program on the PATH, {path}"
        )
    return Program(
        command=command,
        workdir=workdir,
        environment={**os.environ, **workload.env, "PATH": path, "PYTHONUNBUFFERED": "1"},
        timeout_s=workload.timeout_s,
        output=OutputComparison(
            compare=workload.output.compare,  # type: ignore[arg-type]
            path=placed(workload.output.path),
            relative_tolerance=workload.output.relative_tolerance,
            absolute_tolerance=workload.output.absolute_tolerance,
        ),
        marks=Marks(
            first_iteration=workload.marks.first_iteration,
            epoch=workload.marks.epoch,
            file=placed(workload.marks.file),
        ),
    )


def _moved(workload: Workload, interpreter: Path) -> str:
    """The command's first word in the environment of `interpreter`.

    A program that is named by its path in the workload's own environment, be it the interpreter
    or a script beside it, becomes the one of the same name there.
    """
    first = workload.command[0]
    if first == "python":
        return str(interpreter)
    own = absolute(Path(workload.python or ""))
    path = absolute(Path(workload.workdir, first))
    if "/" in first and path == own:
        return str(interpreter)
    if "/" in first and path.parent == own.parent:
        return str(interpreter.parent / path.name)
    return first


def absolute(path: Path) -> Path:
    """Return `path` made absolute but with links kept: a venv's `python` is a link."""
    return Path(os.path.abspath(path.expanduser()))
