"""`trimtab snapshot`: later starts of a slim environment's program go on from a saved one."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli import workspace
from trimtab.cli.output.console import console
from trimtab.cli.result_lines import format_start
from trimtab.cli.steps import WORKSPACE, WorkspaceOption
from trimtab.cli.workspace_lock import alone_in
from trimtab.debloating.snapshots.making import NoSnapshot, Snapshot
from trimtab.errors import UserError
from trimtab.records.imports.saved_starts import SavedStarts


@alone_in("folder")
def snapshot(
    folder: WorkspaceOption = WORKSPACE,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the snapshot; starts are as before.")
    ] = False,
) -> None:
    """Save the debloated program after its imports; later starts go on from there.

    It is of this machine. A start that differs in what the saved one read is a usual one.
    """
    if remove:
        workspace.remove_snapshot(folder)
    else:
        if isinstance(made := _saved(folder), NoSnapshot):
            raise UserError(f"no snapshot: {made.why}")
        _say(made)
    console.path(folder / "env")
    console.result(SavedStarts.read(folder / workspace.START).to_json())


def save_start(folder: Path) -> None:
    """Save the start of the workspace's program; say what that is worth, or why there is none."""
    _say(_saved(folder))


def _saved(folder: Path) -> Snapshot | NoSnapshot:
    with console.step("saving the start: 3 runs, then 10 to compare"):
        return workspace.save_start(folder)


def _say(made: Snapshot | NoSnapshot) -> None:
    console.notes.print(f"{'start':<9}{format_start(made)}", soft_wrap=True)
