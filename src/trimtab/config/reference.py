"""The reference of every YAML key, made from the dataclasses that check them."""

import dataclasses
import inspect
import json
import typing
from typing import Any

from trimtab.config.root import GROUPS, RootConfig
from trimtab.config.validate import without_none, words

_HEAD = """# Configuration: every key

<!-- Made from the dataclasses in src/trimtab/config by `make docs`: edit those. -->

`conf/config.yaml` chooses one file of each group. For one run,
`trimtab run --experiment full -o profiling.repeats=5` chooses or sets anything else, and so does
`--config overrides='["experiment=full", "profiling.repeats=5"]'` of Snakemake. A mistake stops
before anything runs, with the file, the key and what was expected.
"""


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
        "| key | type | default | unit | meaning |",
        "|---|---|---|---|---|",
        *_rows(kind, "", {}),
        "",
    ]
    return "\n".join(lines)


def _rows(kind: Any, prefix: str, shown: dict[Any, str]) -> list[str]:
    """Return the rows of a class; `shown` are the classes of items that have theirs, by key."""
    hints = typing.get_type_hints(kind)
    rows = []
    for spec in dataclasses.fields(kind):
        hint = without_none(hints[spec.name])
        if dataclasses.is_dataclass(hint):
            rows += _rows(hint, f"{prefix}{spec.name}.", shown)
            continue
        kind_in_words, items = words(hint), _items(hint)
        if items:
            inside, kind_of_item = items
            key = f"{prefix}{spec.name}{inside}"
            if kind_of_item not in shown:
                shown[kind_of_item] = key
                rows += _rows(kind_of_item, f"{key}.", shown)
                continue
            kind_in_words = f"as `{shown[kind_of_item]}`"
        meaning = spec.metadata["meaning"].replace("|", "\\|")
        unit = spec.metadata["unit"]
        rows.append(
            f"| `{prefix}{spec.name}` | {kind_in_words} | {_default(spec)} | {unit} | {meaning} |"
        )
    return rows


def _items(hint: Any) -> tuple[str, Any] | None:
    """Return how an item of a list or mapping of dataclasses is named, and its dataclass."""
    members = typing.get_args(hint)
    if members and dataclasses.is_dataclass(members[-1]):
        return ("[]" if typing.get_origin(hint) is list else ".NAME"), members[-1]
    return None


def _default(spec: "dataclasses.Field[Any]") -> str:
    if spec.default is not dataclasses.MISSING:
        return f"`{json.dumps(spec.default)}`"
    if spec.default_factory is not dataclasses.MISSING:
        return f"`{json.dumps(spec.default_factory())}`"
    return "**mandatory**"
