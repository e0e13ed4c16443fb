"""Exclusive access of commands to a workspace."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from trimtab.checkout import no_experiment_at
from trimtab.locks import folder_lock

Given = ParamSpec("Given")


def alone_in(option: str) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """Decorate a command to lock the folder that its `option` names.

    In the results of an experiment, it also excludes Snakemake. The command raises UserError where
    another one is at work.
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
