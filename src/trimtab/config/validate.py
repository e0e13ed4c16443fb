"""From plain values to the classes of the configuration, and what these classes want in words."""

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from trimtab.config.fields import InvalidValueError, MistakeError

Kind = TypeVar("Kind")

_RANGES = {
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "finite_number": "a finite number",
}
_WORDS = {
    Any: "any value",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def steps_of(key: str) -> list[str]:
    """Return the steps of a full key: those of `a.b[0]` are a, b and 0."""
    return re.findall(r"[^.\[\]]+", key)


def kind_at(kind: Any, steps: Iterable[str]) -> Any:
    """Return the type that `kind` gives to the key with these steps, or None without such a key."""
    for step in steps:
        kind = without_none(kind)
        if dataclasses.is_dataclass(kind):
            kind = typing.get_type_hints(kind).get(step)
        else:
            kind = (typing.get_args(kind) or (None,))[-1]
    return without_none(kind)


def without_none(kind: Any) -> Any:
    """Return what a value of `kind` is where it is not None."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return next(member for member in typing.get_args(kind) if member is not type(None))
    return kind


def keys_of(kind: Any) -> list[str]:
    """Return the keys of a class of the configuration, in their order."""
    return [spec.name for spec in dataclasses.fields(kind)]


def words(kind: Any) -> str:
    """Return a type as a person would say it, e.g. `a list, each item a text`."""
    kind = without_none(kind)
    members = typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return f"the keys {', '.join(keys_of(kind))}"
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return f"one of {', '.join(kind)}"
    if typing.get_origin(kind) is list:
        return f"a list, each item {words(members[0])}"
    if typing.get_origin(kind) is dict:
        return f"a mapping, each value {words(members[1])}"
    return _WORDS[kind]


def nearest(given: str, names: Iterable[str]) -> str:
    """Return the hint `did you mean ...? ` where one of `names` is close to `given`, or nothing."""
    close = difflib.get_close_matches(given, sorted(names), n=1)
    return f"did you mean {close[0]}? " if close else ""


def unknown_key(given: str, kind: Any) -> str:
    """Return what is said of a key that a class of the configuration has not."""
    keys = keys_of(kind)
    return f"unknown key; {nearest(given, keys)}expected one of the keys {', '.join(keys)}"


def checked(given: Any, kind: type[Kind], place: str = "") -> Kind:
    """Return `given`, of plain mappings, lists and scalars, as an object of the class `kind`.

    Raises MistakeError with the full key, which begins with `place`, of the first value that is
    wrong; unknown keys come first, as a key that is missing is often one that is misspelt.
    """
    try:
        return TypeAdapter(kind).validate_python(given)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        errors.sort(key=lambda error: error["type"] != "unexpected_keyword_argument")
        mistake = _mistake(errors[0], kind)
        raise MistakeError(joined(place, mistake.key), mistake.problem) from None


def _mistake(error: ErrorDetails, kind: Any) -> MistakeError:
    """Return what pydantic says of one value in our words."""
    location = [step for step in error["loc"] if step != "[key]"]
    key, steps = full_key(location), [str(step) for step in location]
    context = error.get("ctx", {})
    if error["type"] == "unexpected_keyword_argument":
        return MistakeError(key, unknown_key(steps[-1], kind_at(kind, steps[:-1])))
    expected = words(kind_at(kind, steps))
    if error["type"] == "missing":
        return MistakeError(key, f"missing, expected {expected}")
    cause = context.get("error")
    if isinstance(cause, MistakeError):
        return MistakeError(joined(key, cause.key), cause.problem)
    if error["type"] in _RANGES:
        expected = _RANGES[error["type"]].format(**context)
    return InvalidValueError(key, error["input"], expected)


def full_key(location: list[str | int]) -> str:
    """Return the key at `location`: `a.b`, or `a[0]` in a list."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(parts).removeprefix(".")


def joined(place: str, key: str) -> str:
    """Return the full key of `key` inside `place`; either may be empty."""
    return f"{place}.{key}" if place and key and key[0] != "[" else place + key
