"""The kinds of targets: each module of this package with a subclass of Target is one.

They are discovered: a file added here is a kind, called by its name.
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
    """Return the environment of the target `name`, shared by all of its workloads.

    Raises UserError if they name several environments, or an unknown kind.
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
    """Return the target in a manifest."""
    return target_class(environment.kind).at(environment.location)


def target_class(kind: str) -> type[Target]:
    """Return the class in the module `kind`; raises UserError for an unknown kind."""
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
