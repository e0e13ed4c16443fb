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


def filled(given: dict[str, Any], _: Mapping[str, Any]) -> Debloat:
    """Return the options of these values. Raises UserError, which names the wrong option."""
    try:
        options = checked({"name": _COMMAND_LINE, **EVERY_OPTION.nested(given)}, Debloat)
    except MistakeError as error:
        raise EVERY_OPTION.mistake(error) from None
    if old_keys(given):
        console.notes.print(
            f"--files and --unloaded are old options: type --remove {options.remove.value}"
        )
    return options


def _of_code(given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    return filled({"remove": Remove.CODE, **given}, arguments)


def _of_a_program(given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    if not arguments["command"] and not old_keys(given):
        given.setdefault("remove", Remove.CODE)  # nothing runs, so no files can be known as unused
    return filled(given, arguments)


def _of_an_image(given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    return with_store_in(arguments["folder"], given, arguments)


def with_store_in(folder: Path, given: dict[str, Any], arguments: Mapping[str, Any]) -> Debloat:
    """Return an image's options: by default removed files are in the results' `folder`.

    Raises UserError as `filled` does, and for the fallback `original`.
    """
    given.setdefault("fallback", Fallback.STORE)
    if given["fallback"] == Fallback.ORIGINAL:
        raise UserError(
            "--fallback original: the original is not there where an image runs; expected packed,"
            " store or none"
        )
    if given["fallback"] == Fallback.STORE and "store" not in given:
        given["store"] = str(folder / STORE)
        given.setdefault("store_address", STORE_INSIDE)
    return filled(given, arguments)


EVERY_OPTION = OptionGroup(
    Debloat,
    [key for key in keys_of(Debloat) if key not in ("name", "minimum_hole_bytes")],
    filled,
    defaults={"remove": None},
    shown={"remove": "files"},
    metavars={
        "keep_paths": "PATTERN", "keep_libraries": "PATTERN", "store": "FOLDER",
        "store_address": "ADDRESS",
    },
    hidden=("files", "unloaded"),
)  # fmt: skip
IMAGE = EVERY_OPTION.only(
    *(key for key in EVERY_OPTION.keys if key != "start"),  # a snapshot is of one machine
    fill=_of_an_image,
    defaults={"remove": None, "fallback": Fallback.STORE},
)
DEBLOAT = EVERY_OPTION.only(
    *(key for key in EVERY_OPTION.keys if key != "compression"), fill=_of_a_program
)
LOCATE = EVERY_OPTION.only("symbols", "gpu", "start_up_only")
RECONSTRUCT = EVERY_OPTION.only("mode", fill=_of_code, defaults={"mode": Mode.ZERO})
