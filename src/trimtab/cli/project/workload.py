"""The workload of a new project's program: paths in it start at the project's folder."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.cli.program_options import ProgramOptions
from trimtab.cli.workspace import find_interpreter, find_program, no_such_program
from trimtab.config.groups.held_out import HeldOut
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.errors import UserError

_NO_PROGRAM = "give the program after --, or --image"


def workload_of(
    folder: Path, command: Sequence[str], program: ProgramOptions, image: str | None
) -> Workload:
    """Return the workload of a command as typed here, or in `image`, for the project in `folder`.

    Raises UserError for an unknown program or interpreter, and for wrong options.
    """
    if image is not None:
        for name in ("python", "target"):
            if getattr(program, name) is not None:
                raise UserError(f"--{name}: is of an environment; expected no --image beside it")
        program = program.in_image(image)
    target = program.target or TargetConfig()
    if target.is_root:
        workload = program.workload([*command], program.python)
    else:
        workload = _in_environment(folder, command, program, target)
    location = target.location and path_from(folder, target.location)
    output = replace(
        workload.output,
        path=None if program.output is None else str(program.output),
        command=_words_from(folder, workload.output.command),
    )
    workload = replace(workload, target=replace(target, location=location), output=output)
    return _driven_from(folder, workload) if target.is_root else workload


def path_from(folder: Path, path: str) -> str:
    """Return a relative path as it is from `folder`; names that are no path here stay."""
    return os.path.relpath(path, folder) if os.path.lexists(path) else path


def _in_environment(
    folder: Path, command: Sequence[str], program: ProgramOptions, target: TargetConfig
) -> Workload:
    """Return the workload of a program in a Python environment, or a folder of programs."""
    if not command or not find_program(command[0], program.python):
        what = f"{no_such_program(command[0])}; " if command else ""
        raise UserError(f"{what}{_NO_PROGRAM}")
    interpreter = program.python or find_interpreter([*command])
    if interpreter is None and target.location is None:
        raise UserError(
            f"{command[0]} is no Python program by its first line: name the interpreter whose"
            " environment is to be debloated with --python ENV/bin/python, or what else is to be"
            " with --target KIND:LOCATION"
        )
    first, *words = command
    if interpreter is not None:
        interpreter = Path(os.path.abspath(interpreter))
        first = _first_word(first, interpreter)
    workload = program.workload([first, *words], interpreter)
    return replace(
        workload,
        python=None if interpreter is None else os.path.relpath(interpreter, folder),
        workdir=os.path.relpath(Path.cwd(), folder),
    )


def _first_word(first: str, interpreter: Path) -> str:
    """Return a program as the workload names it: by its name, if it is the environment's."""
    found = find_program(first, interpreter)
    path = Path(os.path.abspath(found)) if found else interpreter
    if path.name.startswith("python"):
        return "python"  # the interpreter of either environment
    return path.name if path.parent == interpreter.parent else first


def _driven_from(folder: Path, workload: Workload) -> Workload:
    """Return the workload of a root, whose server is driven from the project's folder."""
    server = replace(workload.server, drive=_words_from(folder, workload.server.drive))
    held_out = {
        name: HeldOut(held.command, held.parameters, _words_from(folder, held.drive))
        for name, held in workload.held_out.items()
    }
    return replace(workload, server=server, held_out=held_out)


def _words_from(folder: Path, words: Sequence[str]) -> list[str]:
    """Return a command that was typed here as it is in `folder`: with its relative paths."""
    return [
        path_from(folder, word)
        if (number or "/" in word) and not Path(word).is_absolute()
        else word
        for number, word in enumerate(words)
    ]
