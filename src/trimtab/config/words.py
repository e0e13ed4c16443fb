"""The classes of the configuration in words: what stands at a key, and what it has to be."""

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

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
