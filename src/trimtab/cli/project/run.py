"""`trimtab run`: the project in this folder, by Snakemake."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from trimtab.errors import UserError


def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="What to make: all, profile, debloat, evaluate ..., or a file."),
    ] = None,
    cores: Annotated[str, typer.Option(help="How many cores at most.")] = "all",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Say what would run, and nothing else.")
    ] = False,
) -> None:
    """Run the project in this folder, or what of it is out of date."""
    if not Path("Snakefile").is_file():
        raise UserError("no Snakefile here: `trimtab new FOLDER -- COMMAND` makes a project")
    words = [_snakemake(), "--cores", cores, *(["-n"] if dry_run else []), *(targets or ["all"])]
    done = subprocess.run(words, check=False)
    if done.returncode:
        raise typer.Exit(done.returncode)


def _snakemake() -> str:
    """Return Snakemake of this environment, or else on the PATH. Raises UserError without one."""
    beside = Path(sys.executable).parent / "snakemake"
    found = str(beside) if beside.is_file() else shutil.which("snakemake")
    if found is None:
        raise UserError("snakemake is not installed: pip install 'trimtab[workflow]'")
    return found
