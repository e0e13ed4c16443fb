"""The kinds of targets: every module of this package that holds a subclass of Target."""

import importlib
import inspect
import pkgutil
from collections.abc import Sequence

from trimtab.config.groups.workload import Workload
from trimtab.debloating import targets
from trimtab.debloating.targets.base import Target
from trimtab.errors import UserError
from trimtab.records.manifest import Environment


def kinds() -> dict[str, type[Target]]:
    """Return the class of every kind, by the name of its module."""
    classes = {}
    for module in pkgutil.iter_modules(targets.__path__):
        members = vars(importlib.import_module(f"{targets.__name__}.{module.name}")).values()
        for kind in filter(inspect.isclass, members):
            if issubclass(kind, Target) and not inspect.isabstract(kind):
                classes[kind.kind()] = kind
    return classes


def target_of(name: str, workloads: Sequence[Workload]) -> Target:
    """Return the environment of the target `name`, which all of its workloads run in.

    Raises UserError where they name several, or a kind that is none.
    """
    environments = {workload.name: _of(workload) for workload in workloads}
    first, *others = environments.values()
    if any(other.describe() != first.describe() for other in others):
        named = ", ".join(f"{key} in {env.describe()}" for key, env in environments.items())
        raise UserError(f"target {name}: its workloads run in different environments ({named})")
    return first


def target_at(environment: Environment) -> Target:
    """Return the target that a manifest names."""
    return _kind(environment.kind).at(environment.location)


def _of(workload: Workload) -> Target:
    return _kind("python_prefix").of(workload)


def _kind(name: str) -> type[Target]:
    classes = kinds()
    if name not in classes:
        raise UserError(f"target: kind: {name!r} given, expected one of {', '.join(classes)}")
    return classes[name]
