"""`trimtab run`: runs the experiment of this folder with Snakemake."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.output.console import console
from trimtab.cli.project.conf import configurations
from trimtab.config.fields import ConfigError
from trimtab.config.parameters import overrides_of, read_overrides
from trimtab.config.validate import nearest
from trimtab.errors import UserError
from trimtab.installation import how_to_add
from trimtab.places import CONF

_JOBS = re.compile(r"^Job stats:\n.*\n-.*\n((?:\w+ +\d+\n)+)", re.MULTILINE)


def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="What to make: all, profile, debloat, evaluate ..., or a file."),
    ] = None,
    cores: Annotated[str, typer.Option(help="How many cores at most.")] = "all",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Only list what would run.")
    ] = False,
    experiment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A file in conf/experiment/, in place of what params.yaml says.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--override",
            "-o",
            metavar="KEY=VALUE",
            help="Change a key of the configuration for this run, such as profiling.repeats=5.",
        ),
    ] = None,
) -> None:
    """Run the experiment of this folder: the stages that are out of date."""
    if not Path("Snakefile").is_file():
        raise UserError("no Snakefile here: `trimtab new FOLDER -- COMMAND` makes a project")
    asked = targets or ["all"]
    options = [*(["-n"] if dry_run else []), *(["--printshellcmds"] if console.verbose else [])]
    overrides = _overrides(experiment, changes or [])
    if overrides is not None:  # before the targets, which would be taken as more overrides
        options = ["--config", f"overrides={json.dumps(overrides, ensure_ascii=False)}", *options]
    words = [_snakemake(), *options, "--cores", cores, *asked]
    if console.quiet or console.as_json:
        exit_code, said = _followed(words)
    else:
        exit_code, said = subprocess.run(words, check=False).returncode, ""
    jobs = _jobs_in(said)
    if console.quiet and dry_run:
        console.answer(*(f"{rule} {count}" for rule, count in jobs.items()))
    reports = sorted(Path("results/evaluate").glob("*/report.html"))
    console.result({"targets": asked, "overrides": overrides, "dry_run": dry_run,
                    "exit_code": exit_code, "jobs": jobs, "reports": reports})  # fmt: skip
    if exit_code:
        raise typer.Exit(exit_code)


def _overrides(experiment: str | None, changes: list[str]) -> list[str] | None:
    """Return all overrides of this run, or None where only params.yaml has any.

    A named experiment ignores the overrides of params.yaml, which belong to another one. Raises
    UserError for an unknown experiment or key.
    """
    if experiment is None and not changes:
        return None
    if experiment is None:
        chosen = read_overrides(Path("params.yaml"))
    else:
        _check_experiment(experiment)
        chosen = [f"experiment={experiment}"]
    overrides = overrides_of({"overrides": [*chosen, *changes]}, "trimtab run")
    try:
        configurations(None, overrides, to_run=True)
    except ConfigError as error:
        if "unknown key" in str(error) or str(error).startswith("override "):
            how = "type `trimtab run -o KEY=VALUE`, such as `-o profiling.repeats=5`"
            raise UserError(f"{error}; {how}") from None
        raise
    return overrides


def _check_experiment(name: str) -> None:
    folders = (Path("conf"), CONF)
    files = [file for folder in folders for file in (folder / "experiment").glob("*.yaml")]
    names = sorted({file.stem for file in files})
    if name not in names:
        raise UserError(
            f"--experiment {name}: no such experiment; {nearest(name, names)}there are:"
            f" {', '.join(names)}; type `trimtab run --experiment NAME`"
        )


def _followed(words: list[str]) -> tuple[int, str]:
    """Run Snakemake and return its exit code and its output.

    The output goes to standard error: at once, or with `--quiet` only after a failure.
    """
    lines = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.decode(errors="replace"))
                if not console.quiet:
                    sys.stderr.write(lines[-1])
        except BaseException:
            process.kill()
            raise
    if console.quiet and process.returncode:
        sys.stderr.writelines(lines)
    return process.returncode, "".join(lines)


def _jobs_in(said: str) -> dict[str, int]:
    """Return the number of jobs of each rule, from Snakemake's own table."""
    table = _JOBS.search(said)
    rows = [] if table is None else [line.split() for line in table[1].splitlines()]
    return {rule: int(count) for rule, count in rows if rule != "total"}


def _snakemake() -> str:
    """Return the path of Snakemake: of this environment, or else on the PATH. Raises UserError."""
    beside = Path(sys.executable).parent / "snakemake"
    found = str(beside) if beside.is_file() else shutil.which("snakemake")
    if found is None:
        raise UserError(f"snakemake is not installed: {how_to_add('workflow')}")
    return found
