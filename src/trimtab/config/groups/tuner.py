"""A tuner: one YAML in `conf/tuner/`."""

from typing import Any

from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Name, about


@dataclass(config=CHECKED)
class TunerConfig:
    """A search algorithm, and its parameters."""

    name: Name = about("The file's stem.")
    kind: Name = about("A module of `trimtab.tuning.tuners`.")
    label: str = about("Name in tables and charts.", default="", report_only=True)
    parameters: dict[str, Any] = about(
        "The tuner's parameters; the module lists them.", factory=dict
    )
    after: Name | None = about(
        "The tuner that searches a workload before this one; they share the ground truth.",
        default=None,
    )
