"""The options of `trimtab debloat` and its single steps, for libraries and files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trimtab.cli.config_options.group import OptionGroup
from trimtab.cli.output.console import console
from trimtab.config.fields import MistakeError
from trimtab.config.groups.debloat import Debloat, Fallback, Mode, Remove, old_keys
from trimtab.config.validate import checked, keys_of
from trimtab.debloating.targets.image import STORE
from trimtab.errors import UserError

_COMMAND_LINE = "command_line"
STORE_INSIDE = "/trimtab/store"  # the store of removed files in containers
Gpus = Annotated[
    list[str] | None,
    typer.Option("--for", help="Compute capability to keep GPU code for, as 9.0; by default this"
                 " machine's GPUs."),
]  # fmt: skip
SettleOption = Annotated[
    int,
    typer.Option(
        min=0,
        help="Consecutive runs that must miss nothing in the slim environment. After a miss, the"
        " code is kept and the count starts again.",
    ),
]
Runs = Annotated[
    int,
    typer.Option("--runs", min=1, help="Traced runs; all that any of them used is kept."),
]


def _filled(given: dict[str, Any], _: Mapping[str, Any]) -> Debloat:
    try:
        by_key = {_ALL.key_of[name]: value for name, value in given.items()}
        options = checked({"name": _COMMAND_LINE, **by_key}, Debloat)
    except MistakeError as error:
        raise _ALL.mistake(error) from None
    if old_keys(given):
        console.notes.print(
            f"--files and --unloaded are old options: type --remove {options.remove.value}"
        )
    return options


def _of_code(given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    return _filled({"remove": Remove.CODE, **given}, arguments)


def _of_a_program(given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    if not arguments["command"] and not old_keys(given):
        given.setdefault("remove", Remove.CODE)  # nothing runs, so no files can be known as unused
    return _filled(given, arguments)


def _of_an_image(given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    if given["fallback"] == Fallback.ORIGINAL:
        raise UserError(
            "--fallback original: the original is not there where an image runs; expected packed,"
            " store or none"
        )
    if given["fallback"] == Fallback.STORE and "store" not in given:
        folder: Path = arguments["folder"]
        given["store"] = str(folder / STORE)
        given.setdefault("store_address", STORE_INSIDE)
    return _filled(given, arguments)


_ALL = OptionGroup(
    Debloat,
    [key for key in keys_of(Debloat) if key not in ("name", "minimum_hole_bytes")],
    _filled,
    defaults={"remove": None},
    shown={"remove": "files"},
    metavars={
        "keep_paths": "PATTERN", "keep_libraries": "PATTERN", "store": "FOLDER",
        "store_address": "ADDRESS",
    },
    hidden=("files", "unloaded"),
)  # fmt: skip
IMAGE = _ALL.only(
    *(key for key in _ALL.keys if key != "start"),  # a snapshot is of one machine
    fill=_of_an_image,
    defaults={"remove": None, "fallback": Fallback.STORE},
)
DEBLOAT = _ALL.only(*(key for key in _ALL.keys if key != "compression"), fill=_of_a_program)
LOCATE = _ALL.only("symbols", "gpu", "start_up_only")
RECONSTRUCT = _ALL.only("mode", fill=_of_code, defaults={"mode": Mode.ZERO})
