"""What may have been done to a JSON document: every kind of damage to every field of it."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Key = str | int
_RAW = "@raw@"  # stands for a text that no JSON writer gives


@dataclass(frozen=True)
class Damage:
    """A damaged document: which field, what was done to it, and its bytes.

    `never` is true where no reader may accept it, whatever the field is.
    """

    field: str
    kind: str
    content: bytes
    never: bool = False


@dataclass(frozen=True)
class _Value:
    kind: str
    value: Any = None
    raw: str = ""
    never: bool = False


_VALUES = (
    _Value("null"),
    _Value("true", True),
    _Value("text", "text"),
    _Value("no text", ""),
    _Value("number in a text", "7"),
    _Value("negative", -1),
    _Value("fraction", 0.5),
    _Value("large", 1 << 62),
    _Value("64 bits", 1 << 63),
    _Value("huge", 1 << 70),
    _Value("5,000 digits", raw="9" * 5000, never=True),
    _Value("1e999", raw="1e999"),
    _Value("NaN", raw="NaN"),
    _Value("out of the folder", "../../victim"),
    _Value("absolute", "/abs/victim"),
    _Value("root", "/"),
    _Value("NUL", "a\0b"),
    _Value("escape code", "a\x1b[31m\u202e[/bold]"),
    _Value("lone surrogate", raw='"a\\ud800"', never=True),
    _Value("list", []),
    _Value("list of lists", [[[]]]),
    _Value("object", {}),
    _Value("unknown object", {"a": [None]}),
    _Value("nested deeply", raw="[" * 100_000 + "]" * 100_000, never=True),
)


def damages(document: Any) -> Iterator[Damage]:
    """Yield the damaged versions of a document: of each field, and of the whole file."""
    yield from _of_the_file(json.dumps(document).encode())
    for place in places(document):
        yield from _of_the_field(document, place)


def places(value: Any, *keys: Key) -> Iterator[tuple[Key, ...]]:
    """Yield the keys that lead to each value, of lists to the first and the last."""
    if keys:
        yield keys
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, *keys, key)
    elif isinstance(value, list):
        for at in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[at], *keys, at)


def _of_the_field(document: Any, place: tuple[Key, ...]) -> Iterator[Damage]:
    field, last = ".".join(map(str, place)), place[-1]
    for given in _VALUES:
        changed, part = _copied(document, place)
        part[last] = _RAW if given.raw else given.value
        text = json.dumps(changed).replace(json.dumps(_RAW), given.raw)
        yield Damage(field, given.kind, text.encode(), given.never)
    changed, part = _copied(document, place)
    value = part.pop(last)
    yield Damage(field, "removed", json.dumps(changed).encode())
    if isinstance(last, str):
        changed, part = _copied(document, place)
        part[f"{last}_too"] = value
        yield Damage(field, "another key", json.dumps(changed).encode())
        part[last], part[f"{last}_too"] = _RAW, value
        text = json.dumps(changed).replace(json.dumps(_RAW), json.dumps(value))
        twice = text.replace(json.dumps(f"{last}_too"), json.dumps(last))
        yield Damage(field, "twice", twice.encode(), never=True)
        for name in ("../../victim", "/abs/victim", "a\0b"):
            changed, part = _copied(document, place)
            part[name] = part.pop(last)
            yield Damage(field, f"called {name!r}", json.dumps(changed).encode())
        others = [key for key in part if key != name]
        if others:
            changed, part = _copied(document, place)
            part[last], part[others[0]] = part[others[0]], part[last]
            yield Damage(field, "swapped with another", json.dumps(changed).encode())
    if isinstance(value, int) and not isinstance(value, bool):
        for by in (-1, 1):
            changed, part = _copied(document, place)
            part[last] = value + by
            yield Damage(field, f"{by:+}", json.dumps(changed).encode())


def _copied(document: Any, place: tuple[Key, ...]) -> tuple[Any, Any]:
    changed = part = copy.deepcopy(document)
    for key in place[:-1]:
        part = part[key]
    return changed, part


def _of_the_file(text: bytes) -> Iterator[Damage]:
    for kind, content in (
        ("empty", b""),
        ("cut in half", text[: len(text) // 2]),
        ("last byte missing", text[:-1]),
        ("something behind it", text + b" {}"),
        ("zeros", bytes(len(text))),
        ("no UTF-8", text.replace(b'"', b'"\xff', 1)),
        ("UTF-16", text.decode().encode("utf-16")),
        ("a list", b"[" + text + b"]"),
        ("a number", b"7"),
        ("nested deeply", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    ):
        yield Damage("the file", kind, content, never=True)
