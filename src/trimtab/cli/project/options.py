"""The options of `trimtab new`: those of the verbs that a project takes the place of."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab.cli.config_options.debloat import EVERY_OPTION, filled, with_store_in
from trimtab.cli.program_options import EVERY_OPTION as EVERY_OPTION_OF_PROGRAM
from trimtab.cli.project.names import results_in
from trimtab.config.groups.debloat import Debloat, Start
from trimtab.errors import UserError


def _of_a_project(given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    if arguments["image"] is None:
        if "compression" in given:
            raise UserError("--compression: expected --image beside it, which is compressed")
        return filled(given, arguments)
    if given["start"] != Start.USUAL:
        raise UserError("--start snapshot: images start as usual; expected no --image beside it")
    return with_store_in(results_in(arguments["folder"] or Path()), given, arguments)


OF_PROGRAM = dataclasses.replace(
    EVERY_OPTION_OF_PROGRAM,
    shown={**EVERY_OPTION_OF_PROGRAM.shown, "output.compare": "every byte"},
)
OF_PROJECT = EVERY_OPTION.only(
    *EVERY_OPTION.keys,
    fill=_of_a_project,
    defaults={"remove": None, "fallback": None, "compression": None},
    shown={
        **EVERY_OPTION.shown, "fallback": "original; with --image store", "compression": "gzip",
    },
)  # fmt: skip
