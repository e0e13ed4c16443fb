"""What came back in a slim environment since it was delivered: told, and removed again."""

from pathlib import Path

from trimtab.cli.output.console import console
from trimtab.cli.unfinished import check_finished
from trimtab.debloating.files.forgetting import forget_brought_back
from trimtab.errors import UserError
from trimtab.records.misses.brought_back import BroughtBack, brought_back


def forget_in(folder: Path) -> BroughtBack:
    """Remove from the environment in `folder` what came back; return what that was.

    Raises UserError where there is none.
    """
    if not (folder / "environment.json").is_file() or not (folder / "env").is_dir():
        raise UserError(f"{folder}: no slim environment; name its workspace with --workspace")
    check_finished(folder)
    return forget_brought_back(folder)


def say_what_came_back(folder: Path) -> None:
    """Say how much, if anything did, and how to be rid of it."""
    came_back = brought_back(folder)
    if came_back.paths:
        said = f"{came_back}; `trimtab advanced learn --forget` removes them again"
        console.notes.print(said, soft_wrap=True)
