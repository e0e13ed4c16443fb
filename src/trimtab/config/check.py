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
    _check(tree)
    return cast(Kind, OmegaConf.to_object(tree))


def _check(node: Container) -> None:
    """Run the dataclasses' checks from the leaves up, where the key of a node is known."""
    keys: Any = node.keys() if isinstance(node, DictConfig) else range(len(cast(Any, node)))
    kind = OmegaConf.get_type(node)
    for key in keys:
        if dataclasses.is_dataclass(kind) and key not in kind.__dataclass_fields__:
            expected = f"one of the keys {', '.join(kind.__dataclass_fields__)}"
            raise InvalidValueError(str(node._get_full_key(key)), key, expected)
        if not OmegaConf.is_missing(node, key):
            child = cast(Any, node)[key]
            if isinstance(child, Container):
                if node._metadata.element_type is str:
                    given = OmegaConf.to_container(child)
                    raise InvalidValueError(str(node._get_full_key(key)), given, "a text")
                _check(child)
    try:
        OmegaConf.to_object(node)
    except InvalidValueError as error:
        place = node._get_full_key(None)
        full_key = f"{place}.{error.key}" if place else error.key
        raise InvalidValueError(full_key, error.given, error.expected) from None
