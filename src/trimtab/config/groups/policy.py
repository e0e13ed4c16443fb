"""A scheduling policy: one YAML in `conf/policy/`."""

from typing import Any

from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Name, about


@dataclass(config=CHECKED)
class PolicyConfig:
    """Which job is next, where it goes, and what happens to those that run."""

    name: Name = about("Name of the policy: the stem of its file.")
    kind: Name = about("The module of `trimtab.policies` that it is an object of.")
    label: str = about("Its name in tables and charts.", default="")
    parameters: dict[str, Any] = about(
        "What the policy is made with: the module's documentation lists the keys.", factory=dict
    )
