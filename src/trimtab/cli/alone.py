"""Commands that write in a workspace, one at a time."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from trimtab.checkout import no_experiment_at
from trimtab.locks import folder_lock

Given = ParamSpec("Given")


def alone_in(option: str) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """Decorate a command so that it has the folder that `option` names to itself.

    In the results of an experiment no Snakemake runs meanwhile either. Called it raises UserError
    where another is at work.
    """

    def decorate(command: Callable[Given, None]) -> Callable[Given, None]:
        @wraps(command)
        def run(*arguments: Given.args, **named: Given.kwargs) -> None:
            folder = named[option]
            assert isinstance(folder, Path)
            with no_experiment_at(folder), folder_lock(folder):
                command(*arguments, **named)

        return run

    return decorate
