"""From a policy's YAML to the object: each module of this package has a function `build`."""

import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.errors import UserError
from trimtab.policies.base import Policy

_NO_POLICIES = (
    "__init__",
    "base",
    "build",
    "heats_training",
    "maintenance",
    "predictions",
    "simulated_probes",
)


@dataclass(frozen=True)
class Asked:
    """What an average job of a class asks for; `work_s` on the reference node."""

    cores: float
    memory_gib: float
    work_s: float
    gpus: float = 0.0


@dataclass(frozen=True)
class ProbeRun:
    """What a probing task took on a node type of the cluster, at one of its frequency levels."""

    node_type: str
    cores: float
    memory_gib: float
    level: int
    wall_s: float
    energy_j: float
    gpus: float = 0.0


@dataclass(frozen=True)
class Facts:
    """What policies are made from: the cluster, the classes of jobs, and what was probed."""

    cluster: Cluster
    job_classes: Sequence[JobClass]
    asked: Sequence[Asked]
    probes: Sequence[ProbeRun] = field(default_factory=tuple)
    seed: int = 1

    @property
    def levels(self) -> list[int]:
        """The number of frequency levels of each node type."""
        return [len(node_type.levels) for node_type in self.cluster.node_types]


def build_policy(kind: str, parameters: Mapping[str, Any], facts: Facts) -> Policy:
    """Return the policy of the module `kind` made with `parameters`.

    Raises UserError for a module or a parameter that is not there, and as the policy itself does.
    """
    kinds = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    known = [name for name in kinds if name not in _NO_POLICIES]
    if kind not in known:
        raise UserError(f"policy: kind: {kind!r} given, expected one of {', '.join(known)}")
    module = importlib.import_module(f"trimtab.policies.{kind}")
    # A module whose keys are many keeps them in a class of their own.
    keys = getattr(module, "keys", lambda: list(inspect.signature(module.build).parameters))
    expected = [name for name in keys() if name != "facts"]
    unknown = sorted(set(parameters) - set(expected))
    if unknown:
        there = ", ".join(expected) or "none"
        raise UserError(
            f"policy: parameters: {', '.join(unknown)} given; the keys of {kind} are: {there}"
        )
    return cast(Policy, module.build(facts, **parameters))
