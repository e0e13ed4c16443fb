"""Reports and removes files that came back in a slim environment since its delivery."""

from pathlib import Path

from trimtab.cli.output.console import console
from trimtab.cli.unfinished import check_finished
from trimtab.debloating.files.forgetting import forget_brought_back
from trimtab.errors import UserError
from trimtab.records.misses.brought_back import BroughtBack, brought_back


def forget_in(folder: Path) -> BroughtBack:
    """Remove and return the files that came back in the environment in `folder`.

    Raises UserError without an environment.
    """
    if not (folder / "environment.json").is_file() or not (folder / "env").is_dir():
        raise UserError(f"{folder}: no slim environment; name its workspace with --workspace")
    check_finished(folder)
    return forget_brought_back(folder)


def say_what_came_back(folder: Path) -> None:
    """Print how much came back, if anything, and how to remove it."""
    came_back = brought_back(folder)
    if came_back.paths:
        said = f"{came_back}; `trimtab advanced learn --forget` removes them again"
        console.notes.print(said, soft_wrap=True)
