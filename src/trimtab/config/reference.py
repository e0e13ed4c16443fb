"""The reference of every YAML key, made from the dataclasses that check them."""

import dataclasses
import inspect
import json
import typing
from enum import StrEnum
from typing import Any

from trimtab.config.root import GROUPS, RootConfig
from trimtab.config.validate import without_none

_HEAD = """# Configuration: every key

<!-- Made from the dataclasses in src/trimtab/config by `make docs`: edit those. -->

`conf/config.yaml` chooses one file of each group. For one run,
`trimtab run --experiment full -o profiling.repeats=5` changes the choice or a key, and so does
Snakemake's `--config overrides='["experiment=full", "profiling.repeats=5"]'`. A mistake stops
before anything runs, with the file, the key and what was expected.

Brackets hold a key's type (a plural is a list), its unit and, after a semicolon, its default.
"""

_PLURALS = {Any: "values", str: "texts", int: "integers", float: "numbers"}
_TYPES = {Any: "any", str: "text", int: "integer", float: "number", bool: "true or false"}


def reference() -> str:
    """Return the whole reference as Markdown: one section for each part of the configuration."""
    kinds = typing.get_type_hints(RootConfig)
    sections = [_section(name, kinds[name]) for name in kinds]
    return "\n".join([_HEAD, *sections])


def _section(name: str, kind: Any) -> str:
    lines = [
        f"## {name}: `conf/{name}/*.yaml`"
        if name in GROUPS
        else f"## {name}: in `conf/config.yaml`",
        "",
        inspect.getdoc(kind) or "",
        "",
        *_keys(kind, "", {}),
        "",
    ]
    return "\n".join(lines)


def _keys(kind: Any, prefix: str, shown: dict[Any, str]) -> list[str]:
    """Return a line a key of a class; `shown` are the classes inside that have theirs, by key."""
    hints = typing.get_type_hints(kind)
    lines = []
    for spec in dataclasses.fields(kind):
        hint = without_none(hints[spec.name])
        inside, kind_inside = _class_inside(hint)
        key, meaning = f"{prefix}{spec.name}", spec.metadata["meaning"]
        if kind_inside and kind_inside not in shown:
            shown[kind_inside] = f"{key}{inside}"
            lines.append(f"- `{key}{inside}`: {meaning}")
            lines += _keys(kind_inside, f"{key}{inside}.", shown)
            continue
        type_ = f"as `{shown[kind_inside]}`" if kind_inside else _type(hint)
        unit = f", {spec.metadata['unit']}" if spec.metadata["unit"] else ""
        lines.append(f"- `{key}` ({type_}{unit}; {_default(spec)}): {meaning}")
    return lines


def _class_inside(hint: Any) -> tuple[str, Any]:
    """Return a dataclass that a key holds and how its keys begin: items are `[]` or `.NAME`."""
    if dataclasses.is_dataclass(hint):
        return "", hint
    item = (typing.get_args(hint) or (None,))[-1]
    if not dataclasses.is_dataclass(item):
        return "", None
    return ("[]" if typing.get_origin(hint) is list else ".NAME"), item


def _type(hint: Any, plural: bool = False) -> str:
    """Return a type in few words, a list as its plural, or the values to choose from."""
    hint = without_none(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return ", ".join(f"`{choice}`" for choice in hint)
    if typing.get_origin(hint) is list:
        item = typing.get_args(hint)[0]
        items = _type(item, True)
        if plural:
            return f"lists of {items}"
        return f"list of {items}" if isinstance(item, type) and issubclass(item, StrEnum) else items
    if typing.get_origin(hint) is dict:
        name = "mappings" if plural else "mapping"
        return f"{name} to {_type(typing.get_args(hint)[1], True)}"
    return _PLURALS[hint] if plural else _TYPES[hint]


def _default(spec: "dataclasses.Field[Any]") -> str:
    if spec.default is not dataclasses.MISSING:
        return f"`{json.dumps(spec.default)}`"
    if spec.default_factory is not dataclasses.MISSING:
        return f"`{json.dumps(spec.default_factory(), default=vars)}`"
    return "**mandatory**"
