"""A scheduling policy: one YAML in `conf/policy/`."""

from typing import Any

from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Name, about


@dataclass(config=CHECKED)
class PolicyConfig:
    """Which job is next, where it runs, and when it is evicted or moved."""

    name: Name = about("The file's stem.")
    kind: Name = about("A module of `trimtab.policies`.")
    label: str = about("Name in tables and charts.", default="")
    parameters: dict[str, Any] = about(
        "The policy's parameters; the module lists them.", factory=dict
    )
