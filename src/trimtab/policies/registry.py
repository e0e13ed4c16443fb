"""From a policy's YAML to the object: what lies in this package and has `build` is a kind.

A kind is a module, or a package, of the kind's name with a function

    def build(facts: Facts, *, some_key: float = 1.0) -> Policy

whose keyword arguments are the keys of the YAML's `parameters`. Nothing lists the kinds: a file
put here is one.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import Any, cast

from trimtab import policies
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.facts import Facts


def build_policy(kind: str, parameters: Mapping[str, Any], facts: Facts) -> Policy:
    """Return the policy of the module `kind` made with `parameters`.

    Raises UserError for a module or a parameter that is not there, and as the policy itself does.
    """
    if kind not in _modules() or not _is_kind(_module(kind)):
        kinds = ", ".join(name for name in _modules() if _is_kind(_module(name)))
        raise UserError(f"policy: kind: {kind!r} given, expected one of {kinds}")
    module = _module(kind)
    keys = _keys(module)
    unknown = sorted(set(parameters) - set(keys))
    if unknown:
        raise UserError(
            f"policy: parameters: {', '.join(unknown)} given; the keys of {kind} are: "
            f"{', '.join(keys) or 'none'}"
        )
    return cast(Policy, module.build(facts, **parameters))


def _modules() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(policies.__path__))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{policies.__name__}.{name}")


def _is_kind(module: ModuleType) -> bool:
    return hasattr(module, "build")


def _keys(module: ModuleType) -> list[str]:
    """Return the keys of a kind: a module that has many keeps them in a class, and has `keys`."""
    if hasattr(module, "keys"):
        return list(module.keys())
    return [name for name in inspect.signature(module.build).parameters if name != "facts"]
