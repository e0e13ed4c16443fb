"""Reports why starts of a slim environment no longer go on from its snapshots."""

from pathlib import Path

from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.debloating.snapshots.changes import changes
from trimtab.errors import escape_control_characters


def say_why_starts_are_usual(folder: Path) -> None:
    """Print what changed since starts in the environment in `folder` were saved, if anything did.

    `folder` is a workspace, or the results of an experiment's target.
    """
    is_workspace = (folder / "workload.json").exists()
    again = "trimtab snapshot" if is_workspace else "snakemake --cores all debloat -R save_start"
    for change in changes(folder / "env"):
        said = f"starts are usual again, as {change}; `{again}` saves them anew"
        console.notes.print(Text(escape_control_characters(said)), soft_wrap=True)
