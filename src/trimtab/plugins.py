"""What a YAML names by `kind` and `parameters`: an object that a module of a package builds.

Nothing lists the kinds of a package: a module of it that has `build` is one.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from trimtab.errors import UserError


def build_plugin(
    package: str,
    path: Iterable[str],
    what: str,
    kind: str,
    parameters: Mapping[str, Any],
    facts: Any,
) -> Any:
    """Return what the module `kind` of a package builds of `facts` with `parameters`.

    `package` and `path` are its `__name__` and `__path__`: whoever writes the latter depends on all
    of its modules (trimtab.sources). Raises UserError, which begins with `what` it was to be, for a
    module or a parameter that is not there, and as the module does.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(path))
    if kind not in names or not hasattr(_module(package, kind), "build"):
        kinds = ", ".join(name for name in names if hasattr(_module(package, name), "build"))
        raise UserError(f"{what}: kind: {kind!r} given, expected one of {kinds}")
    module = _module(package, kind)
    made_with = getattr(module, "MADE_WITH", module.build)  # a class, where it has many keys
    keys = [name for name in inspect.signature(made_with).parameters if name != "facts"]
    unknown = sorted(set(parameters) - set(keys))
    if unknown:
        raise UserError(
            f"{what}: parameters: {', '.join(unknown)} given; the keys of {kind} are: "
            f"{', '.join(keys) or 'none'}"
        )
    return module.build(facts, **parameters)


def _module(package: str, name: str) -> ModuleType:
    return importlib.import_module(f"{package}.{name}")
