"""`trimtab new`: makes a folder with the user's own project."""

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.config_options.debloat import Gpus
from trimtab.cli.config_options.group import option_groups
from trimtab.cli.config_options.run_counts import RUN_COUNTS, RunCounts
from trimtab.cli.output.console import console
from trimtab.cli.program_options import ProgramOptions
from trimtab.cli.project.files import dvc, experiment, parameters, shared, workload_file
from trimtab.cli.project.names import name_of
from trimtab.cli.project.options import OF_PROGRAM, OF_PROJECT
from trimtab.cli.project.policy_file import write_policy
from trimtab.cli.project.workload import workload_of
from trimtab.config.groups.debloat import Debloat
from trimtab.errors import UserError
from trimtab.files import atomic_write


@option_groups(program=OF_PROGRAM, options=OF_PROJECT, counts=RUN_COUNTS)
def new(
    program: ProgramOptions,
    options: Debloat,
    counts: RunCounts,
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
    gpus: Gpus = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write NAME.py instead, a policy for `trimtab schedule simulate`.",
        ),
    ] = None,
) -> None:
    """Make a project of your own, which debloats COMMAND and reports on it, in FOLDER.

    It takes the options of `trimtab debloat` and `verify`, and with --image of `image slim`.
    """
    if policy is not None:
        if folder or command or image:
            raise UserError("--policy NAME: expected no folder, program or image beside it")
        _new_policy(policy)
        return
    if folder is None:
        raise UserError("expected a folder, as in `trimtab new my_project -- python program.py`")
    name, words = name_of(folder), command or []
    workload = workload_of(folder, words, program, image)
    if options.store is not None and not _is_elsewhere(Path(options.store), folder):
        options = replace(options, store=os.path.relpath(options.store, folder))
    files = {
        **shared(),
        "dvc.yaml": dvc(),
        "params.yaml": parameters(name),
        f"conf/experiment/{name}.yaml": experiment(
            name, words or [image or ""], options, counts, gpus or []
        ),
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


def _is_elsewhere(path: Path, folder: Path) -> bool:
    """Whether a path is whole, and none in `folder`."""
    return path.is_absolute() and not path.is_relative_to(folder)


def _new_policy(name: str) -> None:
    path = write_policy(name)
    console.notes.print(
        f"look at {path}, then: trimtab schedule simulate JOBS --policy fcfs,./{path}",
        soft_wrap=True,
    )
    console.path(path)
    console.result({"policy": path})
