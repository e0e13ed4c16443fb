"""The kinds of targets: a module of this package that holds a subclass of Target is one.

Nothing lists them: a file put here is a kind, called by its name.
"""

import inspect
from collections.abc import Sequence
from types import ModuleType

from trimtab.config.groups.workload import Workload
from trimtab.debloating import targets
from trimtab.debloating.targets.base import Target
from trimtab.errors import UserError
from trimtab.plugins import choose
from trimtab.records.manifest import Environment


def target_of(name: str, workloads: Sequence[Workload]) -> Target:
    """Return the environment of the target `name`, which all of its workloads run in.

    Raises UserError where they name several, or a kind that is none.
    """
    environments = {
        workload.name: target_class(workload.target.kind).of(workload) for workload in workloads
    }
    first, *others = environments.values()
    if any(other.describe() != first.describe() for other in others):
        named = ", ".join(f"{key} in {env.root}" for key, env in environments.items())
        raise UserError(f"target {name}: its workloads run in different environments ({named})")
    return first


def target_at(environment: Environment) -> Target:
    """Return the target that a manifest names."""
    return target_class(environment.kind).at(environment.location)


def target_class(kind: str) -> type[Target]:
    """Return the class of the module `kind`; raises UserError where there is none."""
    return choose(targets.__name__, targets.__path__, "target: kind", kind, _class_in)


def _class_in(module: ModuleType) -> type[Target] | None:
    for member in filter(inspect.isclass, vars(module).values()):
        if (
            issubclass(member, Target)
            and not inspect.isabstract(member)
            and member.__module__ == module.__name__
        ):
            return member
    return None
