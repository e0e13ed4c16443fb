"""Commands that write in a workspace, one at a time."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from trimtab.checkout import no_experiment_at
from trimtab.locks import writing_in

Given = ParamSpec("Given")


def alone(command: Callable[Given, None]) -> Callable[Given, None]:
    """Return `command`, whose option `folder` is its workspace, with that to itself.

    In the results of an experiment no Snakemake runs meanwhile either. Called it raises UserError
    where another is at work.
    """

    @wraps(command)
    def run(*arguments: Given.args, **named: Given.kwargs) -> None:
        folder = named["folder"]
        assert isinstance(folder, Path)
        with no_experiment_at(folder), writing_in(folder):
            command(*arguments, **named)

    return run
