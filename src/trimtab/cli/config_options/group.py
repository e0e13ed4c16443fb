"""Options of a verb for keys of the configuration, declared by the keys' fields."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from typing import Annotated, Any, Generic, TypeVar

import typer

from trimtab.config.fields import MistakeError
from trimtab.config.validate import kind_at, steps_of, without_none
from trimtab.errors import UserError

Filled = TypeVar("Filled")
_FIRST_SENTENCE = re.compile(r"(.+?[.])(?:\s|$)", re.DOTALL)
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


@dataclasses.dataclass(frozen=True)
class OptionGroup(Generic[Filled]):
    """Keys of a configuration class, as options that fill an object.

    `keys` are full, such as `server.drive`. `fill` makes the object from the given values, by the
    options' names in Python, and from all other arguments of the verb. `kinds` are a key's types on
    the command line only. `defaults` replace a key's own; for None, the help shows the text in
    `shown`.
    """

    kind: Any
    keys: Sequence[str]
    fill: Callable[[dict[str, Any], Mapping[str, Any]], Filled]
    kinds: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    shown: Mapping[str, str] = dataclasses.field(default_factory=dict)
    metavars: Mapping[str, str] = dataclasses.field(default_factory=dict)
    hidden: Sequence[str] = ()
    panel: str | None = None

    @cached_property
    def key_of(self) -> dict[str, str]:
        """The full key of each option, by the option's name in Python."""
        return {_name_of(self.kind, key): key for key in self.keys}

    def only(self, *keys: str, **changes: Any) -> "OptionGroup[Filled]":
        """Return the group with only these keys, and with other changes."""
        return dataclasses.replace(self, keys=keys, **changes)

    def parameters(self) -> list[inspect.Parameter]:
        """Return the function parameters from which Typer makes these options."""
        return [self._parameter(name, key) for name, key in self.key_of.items()]

    def given_in(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the given options among all `arguments`."""
        values = {name: arguments[name] for name in self.key_of}
        return {name: value for name, value in values.items() if value not in (None, [])}

    def nested(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the mapping of keys, as in a YAML, that `given` values of options make."""
        document: dict[str, Any] = {}
        for name, value in given.items():
            *above, last = self.key_of[name].split(".")
            place = document
            for step in above:
                place = place.setdefault(step, {})
            place[last] = value
        return document

    def mistake(self, error: MistakeError) -> UserError:
        """Return the error with the option whose key has a wrong value."""
        wrong = [
            name
            for name, key in self.key_of.items()
            if re.match(rf"{re.escape(key)}(?![^.[])", error.key)
        ]
        option = f"--{wrong[0].replace('_', '-')}" if wrong else f"the key {error.key}"
        return UserError(f"{option}: {error.problem}")

    def _parameter(self, name: str, key: str) -> inspect.Parameter:
        field = _field_of(self.kind, key)
        kind = self.kinds.get(key) or kind_at(self.kind, steps_of(key))
        default = None if field.default is dataclasses.MISSING else field.default
        default = self.defaults.get(key, default)
        option = typer.Option(
            f"--{name.replace('_', '-')}",
            help=_help_of(field.metadata["meaning"]),
            metavar=self.metavars.get(key),
            show_default=self.shown.get(key, True),
            hidden=key in self.hidden,
            rich_help_panel=self.panel,
        )
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind if default is not None else kind | None, option],
        )


def option_groups(
    **groups: OptionGroup[Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a verb: a group of options fills each of its parameters named here.

    These options follow the verb's own. Wrong values raise the UserError of `fill`.
    """

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(verb, eval_str=True)
        own = [one for one in signature.parameters.values() if one.name not in groups]
        own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        taken = [one for group in groups.values() for one in group.parameters()]

        @wraps(verb)
        def run(**arguments: Any) -> None:
            filled = {
                name: group.fill(group.given_in(arguments), arguments)
                for name, group in groups.items()
            }
            verb(**{one.name: arguments[one.name] for one in own}, **filled)

        parameters = [*own, *taken]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def _field_of(kind: Any, key: str) -> "dataclasses.Field[Any]":
    *above, last = steps_of(key)
    kind = kind_at(kind, above) if above else without_none(kind)
    return next(field for field in dataclasses.fields(kind) if field.name == last)


def _name_of(kind: Any, key: str) -> str:
    """Return the option's name in Python: by its field, or else the key itself."""
    field = _field_of(kind, key)
    return (field.metadata["option"] or field.name).replace("-", "_")


def _help_of(meaning: str) -> str:
    """Return the first sentence of a key's meaning, without Markdown."""
    found = _FIRST_SENTENCE.match(meaning)
    sentence = found[1] if found else meaning
    return _LINK.sub(r"\1", sentence).replace("`", "")
