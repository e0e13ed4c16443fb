"""`trimtab check`: a budget of bytes that fails a build."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from trimtab.cli.output.console import console
from trimtab.cli.results.environment_table import environment_table, format_suggestions
from trimtab.cli.single_steps.forgetting import say_what_came_back
from trimtab.cli.single_steps.usual_starts import say_why_starts_are_usual
from trimtab.cli.steps import WORKSPACE
from trimtab.debloating.original_identity import problem_of_original
from trimtab.errors import UserError, escape_control_characters
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.records.outcome import EnvironmentOutcome, Outcome, mb

OVER_BUDGET = 3  # 1 is an internal error, 2 a user error
_UNITS = {"B": 1}
_UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)}
_UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")


def check(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RESULT...",
            help="A workspace of `trimtab debloat`, results/debloat/TARGET/HARDWARE or"
            " results/evaluate/EXPERIMENT; by default the workspace here.",
        ),
    ] = None,
    max_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of the whole on disk, such as 400MB.")
    ] = None,
    max_compressed_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of the whole compressed, such as 150MB.")
    ] = None,
) -> None:
    """Report the size of slim environments; exit with code 3 if one is over budget.

    It also exits with 3 if verification failed, or if the original, its source, is gone or changed.
    """
    disk, compressed = (
        None if text is None else bytes_of(option, text)
        for option, text in (
            ("--max-size", max_size),
            ("--max-compressed-size", max_compressed_size),
        )
    )
    folders = results or [WORKSPACE]
    outcomes = [outcome_in(folder) for folder in folders]
    originals = (problem_of_original(folder / "environment.json") for folder in folders)
    problems = [problem for problem in originals if problem is not None] + [
        problem
        for outcome in outcomes
        for environment in outcome.environments
        for problem in problems_of(environment, disk, compressed)
    ]
    _tell(outcomes, problems)
    for folder in folders:
        say_what_came_back(folder)
        say_why_starts_are_usual(folder)
    found = [outcome.to_json() for outcome in outcomes]
    console.result({"passed": not problems, "problems": problems, "results": found})
    if problems:
        raise typer.Exit(OVER_BUDGET)


def bytes_of(option: str, text: str) -> int:
    """Return a size such as 400MB or 1.5GiB in bytes.

    Raises UserError with the option for an invalid size, and for a number without a unit, which is
    ambiguous.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None or found[2] not in _UNITS:
        units = ", ".join(_UNITS)
        meant = f"{found[1]}MB" if found is not None and not found[2] else "400MB"
        raise UserError(
            f"{option}: {text!r} given, expected a number with one of {units}, such as {meant}"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def problems_of(
    environment: EnvironmentOutcome, max_bytes: int | None, max_compressed_bytes: int | None
) -> list[str]:
    """Return messages for each exceeded budget, and for an environment that does not work."""
    problems = []
    if environment.verified is False:
        problems.append(environment.sentence)
    if max_bytes is not None:
        problems += _over(environment.target, "on disk", environment.disk.after_bytes, max_bytes)
    if max_compressed_bytes is not None:
        if environment.compressed is None:
            raise UserError(
                f"--max-compressed-size: {environment.target} was not weighed compressed; debloat"
                " it again"
            )
        weight = environment.compressed.after_bytes
        problems += _over(environment.target, "compressed", weight, max_compressed_bytes)
    return problems


def _over(target: str, how: str, weight_bytes: int, max_bytes: int) -> list[str]:
    if weight_bytes <= max_bytes:
        return []
    over = mb(weight_bytes - max_bytes)
    return [f"{target}: {mb(weight_bytes)} MB {how}, {over} MB over the {mb(max_bytes)} allowed"]


def _tell(outcomes: list[Outcome], problems: list[str]) -> None:
    shown = [] if console.quiet else outcomes
    for outcome in shown:
        for environment in outcome.environments:
            console.answer(environment.sentence, environment_table(environment))
            console.answer(*format_suggestions(environment))
    for problem in problems:
        console.problems.print(
            Text("failed:", "bold red"), escape_control_characters(problem), soft_wrap=True
        )
