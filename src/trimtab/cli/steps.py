"""Shared steps of commands that trace a program and make its slim environment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trimtab.cli import program_options, workspace
from trimtab.cli.output.console import console
from trimtab.cli.output.progress_lines import LIBRARIES, RUNS, ProgressBars
from trimtab.config.groups.debloat import Debloat
from trimtab.debloating.settling import OnTurn
from trimtab.errors import escape_control_characters
from trimtab.progress import telling
from trimtab.records.misses.settling import Settling
from trimtab.records.usage import Usage

WORKSPACE = Path("trimtab_workspace")
WorkspaceOption = Annotated[
    Path, typer.Option("--workspace", help="Where the results of all steps are kept.")
]


def traced(
    folder: Path,
    command: list[str],
    program: program_options.ProgramOptions,
    runs: int,
    keep_libraries: Sequence[str] = (),
) -> Usage:
    """Trace a program into the workspace `folder` and print the notes; see workspace.trace."""
    step = f"tracing: {runs + 2} runs"  # two without tracing, the others traced
    with console.step(step), telling(_note):
        usage = workspace.trace(folder, command, program, runs, keep_libraries)
    for note in usage.notes:
        _note(note)
    ends = program.ends_with
    asked = f"{'exit code ' if ends.isdigit() else ''}{ends}, as asked" if ends else "exit code 0"
    how = "well" if program.drive and not ends else f"with {asked}"
    console.notes.print(f"every run ended {how}", soft_wrap=True)
    for saturation in usage.saturation:
        console.detail(str(saturation))
    return usage


def _note(words: str) -> None:
    console.notes.print(
        Text("note:", "bold"), Text(escape_control_characters(words)), soft_wrap=True
    )


def slimmed(
    folder: Path, options: Debloat, gpus: list[str] | None, settle: int, words: str
) -> Settling:
    """Make the slim environment of the workspace `folder` and show the progress."""
    with console.bars(words) as progress, telling(console.notes.print):
        task = progress.add_task("building", total=None, unit=LIBRARIES)
        return workspace.debloat(
            folder,
            options,
            gpus or [],
            settle,
            lambda name, done, total: progress.update(task, completed=done, total=total),
            settling_bar(progress, settle),
        )


def settling_bar(progress: ProgressBars, clean_runs: int) -> OnTurn:
    """Show the number of consecutive runs without misses, once there are any."""
    task = progress.add_task("settling", total=clean_runs, visible=False, unit=RUNS)

    def on_turn(clean: int, missed: int, builds: int) -> None:
        words = f"settling, {missed:,} missed" if missed else "settling"
        progress.update(task, description=words, completed=clean, visible=True)

    return on_turn
