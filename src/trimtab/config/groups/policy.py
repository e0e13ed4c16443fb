"""A scheduling policy: one YAML in `conf/policy/`."""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from trimtab.config.fields import about, check_name


@dataclass
class PolicyConfig:
    """Which job is next, where it goes, and what happens to those that run."""

    name: str = field(default=MISSING, metadata=about("Name of the policy: the stem of its file."))
    kind: str = field(
        default=MISSING,
        metadata=about("The module of `trimtab.policies` that it is an object of."),
    )
    label: str = field(default="", metadata=about("Its name in tables and charts."))
    parameters: dict[str, Any] = field(
        default_factory=dict,
        metadata=about("What the policy is made with: the module's documentation lists the keys."),
    )

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_name("kind", self.kind)
