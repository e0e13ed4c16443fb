"""From a workload's YAML to the program that is run."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.runs.program import Program


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

    path = os.environ.get("PATH", os.defpath)
    first, *others = command_line(workload)
    if interpreter:
        path, first = f"{interpreter.parent}:{path}", _moved(first, workload, interpreter)
    command = tuple(word.replace("{output}", output) for word in (first, *others))
    if not shutil.which(workdir / command[0] if "/" in command[0] else command[0], path=path):
        where = f"in {interpreter.parent} or on the PATH" if interpreter else "on the PATH"
        raise UserError(
            f"workload {workload.name}: command: {command[0]} was not found as a program {where}"
        )
    return Program(
        command=command,
        workdir=workdir,
        environment={**os.environ, **workload.env, "PATH": path},
        timeout_s=workload.timeout_s,
        output=replace(workload.output, path=placed(workload.output.path)),
        marks=replace(workload.marks, file=placed(workload.marks.file)),
        own_variables=frozenset(workload.env),
    )


def command_line(workload: Workload) -> list[str]:
    """Return the words of the command with the parameters, and `{output}` still to be replaced.

    A parameter whose name stands in braces in a word is put there; others are appended as options,
    `batch_size: 16` as `--batch-size 16`, true as the bare option, false and None not at all.
    """
    given = {name: _word(workload.parameters[name]) for name in workload.placed_parameters}

    def value(placeholder: re.Match[str]) -> str:
        return given.get(placeholder[1], placeholder[0])

    words = [re.sub(r"\{(\w+)\}", value, word) for word in workload.command]
    for name, parameter in workload.parameters.items():
        if name not in given and parameter is not None and parameter is not False:
            words.append(f"--{name.replace('_', '-')}")
            words += [] if parameter is True else [_word(parameter)]
    return words


def _word(parameter: Any) -> str:
    return str(parameter).lower() if isinstance(parameter, bool) else str(parameter)


def _moved(first: str, workload: Workload, interpreter: Path) -> str:
    """The command's first word in the environment of `interpreter`.

    A program that is named by its path in the workload's own environment, be it the interpreter
    or a script beside it, becomes the one of the same name there.
    """
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
