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
    names = sorted(module.name for module in pkgutil.iter_modules(policies.__path__))
    if kind not in names or not hasattr(_module(kind), "build"):
        kinds = ", ".join(name for name in names if hasattr(_module(name), "build"))
        raise UserError(f"policy: kind: {kind!r} given, expected one of {kinds}")
    module = _module(kind)
    made_with = getattr(module, "MADE_WITH", module.build)  # a class, where it has many keys
    keys = [name for name in inspect.signature(made_with).parameters if name != "facts"]
    unknown = sorted(set(parameters) - set(keys))
    if unknown:
        raise UserError(
            f"policy: parameters: {', '.join(unknown)} given; the keys of {kind} are: "
            f"{', '.join(keys) or 'none'}"
        )
    return cast(Policy, module.build(facts, **parameters))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{policies.__name__}.{name}")
