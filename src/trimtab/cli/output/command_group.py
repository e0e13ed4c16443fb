"""The options that every verb takes, after its name and before it, and that it is run by."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from trimtab.cli.output.console import speaker

Command = TypeVar("Command", bound=Callable[..., Any])
_PANEL = "Output"
_KEPT = "trimtab.output"  # in the contexts of a verb and of what is before it


def _keep(context: typer.Context, option: typer.CallbackParam, given: bool) -> bool:
    if given:
        context.meta.setdefault(_KEPT, set()).add(option.name)
    return given


def _option(*names: str, says: str) -> Any:
    return typer.Option(*names, callback=_keep, help=says, rich_help_panel=_PANEL)


def _as_asked(
    quiet: Annotated[
        bool, _option("--quiet", "-q", says="Say nothing but the result, and errors.")
    ] = False,
    verbose: Annotated[
        bool,
        _option(
            "--verbose", "-v",
            says="Say what is done: each command that starts, each file that is written, how long"
            " each step takes, and where an error comes from.",
        ),
    ] = False,
    as_json: Annotated[
        bool, _option("--json", says="Write the result to standard output as one JSON document.")
    ] = False,
) -> None:  # fmt: skip
    """Take the options; what becomes of them is the verb's."""


def _options() -> list[Any]:
    one = typer.Typer(add_completion=False)
    one.command()(_as_asked)
    options = get_command(one).params
    for option in options:
        option.expose_value = False
    return options


_OPTIONS = _options()


class _Verb(TyperCommand):
    def __init__(self, *given: Any, params: list[Any], **named: Any) -> None:
        super().__init__(*given, params=[*params, *_OPTIONS], **named)

    def invoke(self, ctx: Any) -> Any:
        asked = ctx.meta.get(_KEPT, set())
        with speaker.speaking(**{str(option.name): option.name in asked for option in _OPTIONS}):
            return super().invoke(ctx)


class _Group(TyperGroup):
    def __init__(self, *, params: list[Any], **named: Any) -> None:
        super().__init__(params=[*params, *_OPTIONS], **named)


class CommandGroup(typer.Typer):
    """A command line each of whose verbs takes `--quiet`, `--verbose` and `--json`."""

    def __init__(self, **named: Any) -> None:
        super().__init__(cls=_Group, **named)

    def command(self, name: str | None = None, **named: Any) -> Callable[[Command], Command]:
        """Return what makes a verb of a function; all else is as for Typer."""
        return super().command(name, cls=_Verb, **named)
