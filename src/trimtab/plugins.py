"""What joins a package by being a module of it: nothing lists the kinds that there are.

Whoever writes a package's `__path__` depends on all of its modules (trimtab.sources): it is given
here, after the package's `__name__`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, TypeVar

from trimtab.errors import UserError

Found = TypeVar("Found")


def modules_in(package: str, path: Iterable[str]) -> Iterator[ModuleType]:
    """Yield the modules of a package, and of packages in it, in the order of their names."""
    for module in sorted(pkgutil.walk_packages(path, f"{package}."), key=lambda each: each.name):
        yield importlib.import_module(module.name)


def module_names(path: Iterable[str]) -> list[str]:
    """Return the names of the modules and packages in a package, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(path))


def choose(
    package: str,
    path: Iterable[str],
    what: str,
    kind: str,
    found_in: Callable[[ModuleType], Found | None],
) -> Found:
    """Return what `found_in` finds in the module `kind` of a package.

    Raises UserError, which begins with `what` and names the kinds, where there is nothing.
    """
    names = module_names(path)
    chosen = found_in(importlib.import_module(f"{package}.{kind}")) if kind in names else None
    if chosen is None:
        kinds = [name for name in names if found_in(importlib.import_module(f"{package}.{name}"))]
        raise UserError(f"{what}: {kind!r} given, expected one of {', '.join(kinds)}")
    return chosen


def build_plugin(
    package: str,
    path: Iterable[str],
    what: str,
    kind: str,
    parameters: Mapping[str, Any],
    facts: Any,
) -> Any:
    """Return the object that the module `kind` of a package builds from `facts` with `parameters`.

    A module that has `build` is a kind. Raises UserError, which begins with `what` it was to be,
    for a module or a parameter that is not there, and as the module does.
    """
    module = choose(
        package, path, f"{what}: kind", kind, lambda each: each if hasattr(each, "build") else None
    )
    return build_from(module, what, parameters, facts)


def build_from(module: ModuleType, what: str, parameters: Mapping[str, Any], *facts: Any) -> Any:
    """Return what the `build` of a module makes of `facts` and `parameters`.

    Raises UserError, which begins with `what` it was to be, for an unknown parameter, and as the
    module does.
    """
    made_with = getattr(module, "MADE_WITH", module.build)  # a class, for kinds with many keys
    keys = [name for name in inspect.signature(made_with).parameters if name != "facts"]
    unknown = sorted(set(parameters) - set(keys))
    if unknown:
        raise UserError(
            f"{what}: parameters: {', '.join(unknown)} given; the keys of "
            f"{module.__name__.rpartition('.')[2]} are: {', '.join(keys) or 'none'}"
        )
    return module.build(*facts, **parameters)
