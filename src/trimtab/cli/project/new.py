"""`trimtab new`: makes a folder with the user's own project."""

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.config_options.group import option_groups
from trimtab.cli.output.console import console
from trimtab.cli.program_options import ENDING, PROGRAM, ProgramOptions
from trimtab.cli.project.files import dvc, experiment, parameters, shared, workload_file
from trimtab.cli.project.policy_file import write_policy
from trimtab.cli.workspace import find_interpreter, find_program, no_such_program
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.files import atomic_write

_NO_PROGRAM = "give the program after --, or --image"


@option_groups(program=PROGRAM.only("python", "output.path", "output.compare", *ENDING))
def new(
    program: ProgramOptions,
    folder: Annotated[
        Path | None, typer.Argument(help="The project's folder, new or empty of these.")
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="The program, as you run it."),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="The container image it runs in: an archive, an OCI folder, a SIF, or an engine's"
            " name for it; COMMAND then follows its entrypoint.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write NAME.py instead, a policy for `trimtab schedule simulate`.",
        ),
    ] = None,
) -> None:
    """Make a project of your own, which debloats COMMAND and reports on it, in FOLDER."""
    if policy is not None:
        if folder or command or image:
            raise UserError("--policy NAME: expected no folder, program or image beside it")
        _new_policy(policy)
        return
    if folder is None:
        raise UserError("expected a folder, as in `trimtab new my_project -- python program.py`")
    name = _name_of(folder)
    words = command or []
    if image is None:
        workload = _of_environment(folder, words, program)
    else:
        workload = program.in_image(_from(folder, image)).workload(words, None)
    files = {
        **shared(),
        "dvc.yaml": dvc(),
        "params.yaml": parameters(name),
        f"conf/experiment/{name}.yaml": experiment(name, words or [image or ""]),
        f"conf/workload/{name}.yaml": workload_file(name, workload),
    }
    if there := [file for file in files if os.path.lexists(folder / file)]:
        raise UserError(f"{folder}: has {', '.join(there)} already; expected a new folder")
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            temporary.write_text(text)
    console.notes.print(
        f"look at {folder}/conf/workload/{name}.yaml, then: cd {shlex.quote(str(folder))} &&"
        " trimtab run",
        soft_wrap=True,
    )
    console.path(folder)
    console.result({"folder": folder, "name": name, "files": [folder / file for file in files]})


def _new_policy(name: str) -> None:
    path = write_policy(name)
    console.notes.print(
        f"look at {path}, then: trimtab schedule simulate JOBS --policy fcfs,./{path}",
        soft_wrap=True,
    )
    console.path(path)
    console.result({"policy": path})


def _of_environment(folder: Path, command: list[str], program: ProgramOptions) -> Workload:
    """Return the workload of a program in a Python environment; its paths start at `folder`."""
    if not command or not find_program(command[0], program.python):
        what = f"{no_such_program(command[0])}; " if command else ""
        raise UserError(f"{what}{_NO_PROGRAM}")
    interpreter = program.python or find_interpreter(command)
    if interpreter is None:
        raise UserError(
            f"{command[0]} is no Python program by its first line: name the interpreter whose"
            " environment is to be debloated with --python ENV/bin/python"
        )
    interpreter = Path(os.path.abspath(interpreter))
    first = find_program(command[0], interpreter)
    path = Path(os.path.abspath(first)) if first else interpreter
    if path.name.startswith("python"):
        word = "python"  # the interpreter of either environment
    else:
        word = path.name if path.parent == interpreter.parent else command[0]
    workload = program.workload([word, *command[1:]], interpreter)
    return replace(
        workload,
        python=os.path.relpath(interpreter, folder),
        workdir=os.path.relpath(Path.cwd(), folder),
        output=replace(
            workload.output, path=None if program.output is None else str(program.output)
        ),
    )


def _from(folder: Path, image: str) -> str:
    """Return a path relative to `folder`; an engine's image names stay unchanged."""
    return os.path.relpath(image, folder) if Path(image).exists() else image


def _name_of(folder: Path) -> str:
    """Return the name of the project in `folder`: words of letters and digits.

    Raises UserError where the folder's name has none.
    """
    name = re.sub(r"[^a-z0-9]+", "_", Path(os.path.abspath(folder)).name.lower()).strip("_")
    if not name:
        raise UserError(f"{folder}: expected a name with letters or digits")
    return name
