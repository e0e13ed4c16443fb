"""Command groups whose verbs all take the output options, before or after the verb's name."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from trimtab.cli.output.console import console

Command = TypeVar("Command", bound=Callable[..., Any])
_PANEL = "Output"
_KEPT = "trimtab.output"  # in the contexts of a verb and of what is before it
_EVERY_OPTION = "trimtab.help_all"  # in the context of a verb


def _keep(context: typer.Context, option: typer.CallbackParam, given: bool) -> bool:
    if given:
        context.meta.setdefault(_KEPT, set()).add(option.name)
    return given


def _option(*names: str, says: str) -> Any:
    return typer.Option(*names, callback=_keep, help=says, rich_help_panel=_PANEL)


def _as_asked(
    quiet: Annotated[
        bool, _option("--quiet", "-q", says="Print only the result and errors.")
    ] = False,
    verbose: Annotated[
        bool,
        _option(
            "--verbose", "-v",
            says="Report each command, each written file, the time of each step, and where an error"
            " comes from.",
        ),
    ] = False,
    as_json: Annotated[
        bool, _option("--json", says="Write the result to standard output as one JSON document.")
    ] = False,
) -> None:  # fmt: skip
    """Take the options; what becomes of them is the verb's."""


def _show_every_option(context: typer.Context, asked: bool) -> None:
    if asked:
        context.meta[_EVERY_OPTION] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _help_all(
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all",
            is_eager=True,
            callback=_show_every_option,
            help="Show every option and exit.",
        ),
    ] = False,
) -> None:
    """Take the option."""


def _options(function: Callable[..., None]) -> list[Any]:
    one = typer.Typer(add_completion=False)
    one.command()(function)
    options = get_command(one).params
    for option in options:
        option.expose_value = False
    return options


_OPTIONS = _options(_as_asked)
_HELP_ALL = _options(_help_all)
_HIDDEN_HELP_ALL = _options(_help_all)  # of verbs that have no more options than `--help` shows
for _option_of_all in _HIDDEN_HELP_ALL:
    _option_of_all.hidden = True


class _Verb(TyperCommand):
    """A verb; `common` are the options that `--help` shows, or None for all.

    `new_name` is the current name of a verb with an old name.
    """

    common: ClassVar[Collection[str] | None] = None
    new_name: ClassVar[str | None] = None

    def __init__(self, *given: Any, params: list[Any], **named: Any) -> None:
        options = [one for one in params if isinstance(one, TyperOption) and not one.hidden]
        common = self.common
        self._rare = [] if common is None else [one for one in options if one.name not in common]
        everything = _HELP_ALL if self._rare else _HIDDEN_HELP_ALL
        super().__init__(*given, params=[*params, *everything, *_OPTIONS], **named)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: the common options, or all with `--help-all`."""
        if not self._rare or ctx.meta.get(_EVERY_OPTION):
            super().format_help(ctx, formatter)
        else:
            with self._without_rare():
                super().format_help(ctx, formatter)

    @contextmanager
    def _without_rare(self) -> Iterator[None]:
        # Hidden only here, as shells complete every option.
        self.epilog = f"--help-all shows {len(self._rare)} more"
        for option in self._rare:
            option.hidden = True
        try:
            yield
        finally:
            self.epilog = None
            for option in self._rare:
                option.hidden = False

    def invoke(self, ctx: Any) -> Any:
        asked = ctx.meta.get(_KEPT, set())
        with console.speaking(**{str(option.name): option.name in asked for option in _OPTIONS}):
            if self.new_name is not None:
                console.notes.print(
                    f"trimtab {self.name}: type `trimtab {self.new_name}`; the next version does"
                    " not know the old name",
                    soft_wrap=True,
                )
            return super().invoke(ctx)


class _Group(TyperGroup):
    order: ClassVar[Sequence[str]] = ()

    def __init__(self, *, params: list[Any], **named: Any) -> None:
        super().__init__(params=[*params, *_OPTIONS], **named)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, first those in `order`."""
        names = super().list_commands(ctx)
        first = [name for name in self.order if name in names]
        return first + [name for name in names if name not in first]


class CommandGroup(typer.Typer):
    """A command line whose verbs all take `--quiet`, `--verbose` and `--json`.

    Its help lists the verbs in `order` first.
    """

    def __init__(self, order: Iterable[str] = (), **named: Any) -> None:
        group = type("_Ordered", (_Group,), {"order": tuple(order)})
        super().__init__(cls=group, **named)

    def command(
        self,
        name: str | None = None,
        *,
        common: Collection[str] | None = None,
        new_name: str | None = None,
        **named: Any,
    ) -> Callable[[Command], Command]:
        """Return the decorator that makes a function a verb; other arguments are as for Typer.

        `common` names the options that `--help` shows, by default all; `--help-all` shows all. A
        verb with a `new_name` has an old name: it is not listed, and tells the new name.
        """
        verb = type("_OneVerb", (_Verb,), {"common": common, "new_name": new_name})
        hidden = new_name is not None
        return super().command(name, cls=verb, hidden=hidden, **named)
