"""From Hydra's tree to the dataclasses, with every check run and the full key of what fails."""

import dataclasses
from typing import Any, TypeVar, cast

from omegaconf import Container, DictConfig, ListConfig, OmegaConf

from trimtab.config.fields import InvalidValueError

Kind = TypeVar("Kind")


def checked(tree: DictConfig | ListConfig, kind: type[Kind]) -> Kind:
    """Return `tree` as an object of the dataclass `kind`.

    Raises InvalidValueError with the full key for the first value out of range, and OmegaConf's
    errors for a mandatory key that is missing or an interpolation that leads nowhere.
    """
    _check(tree, "")
    return cast(Kind, OmegaConf.to_object(tree))


def _check(node: Container, place: str) -> None:
    """Run the dataclasses' checks from the leaves up; `place` is the full key of `node`."""
    keys: Any = node.keys() if isinstance(node, DictConfig) else range(len(cast(Any, node)))
    kind = OmegaConf.get_type(node)
    for key in keys:
        full_key = _inside(place, key)
        if dataclasses.is_dataclass(kind) and key not in kind.__dataclass_fields__:
            expected = f"one of the keys {', '.join(kind.__dataclass_fields__)}"
            raise InvalidValueError(full_key, key, expected)
        if not OmegaConf.is_missing(node, key):
            child = cast(Any, node)[key]
            if isinstance(child, Container):
                if node._metadata.element_type is str:
                    raise InvalidValueError(full_key, OmegaConf.to_container(child), "a text")
                _check(child, full_key)
    try:
        OmegaConf.to_object(node)
    except InvalidValueError as error:
        raise InvalidValueError(_inside(place, error.key), error.given, error.expected) from None


def _inside(place: str, key: str | int) -> str:
    """Return the full key of what `key` names in `place`: `a.b`, or `a[0]` in a list."""
    if isinstance(key, int):
        return f"{place}[{key}]"
    return f"{place}.{key}" if place else str(key)
