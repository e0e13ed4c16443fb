"""A tuner: one YAML in `conf/tuner/`."""

from typing import Any

from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Name, about


@dataclass(config=CHECKED)
class TunerConfig:
    """What is searched, by which algorithm, and what trials run under."""

    name: Name = about("Name of the tuner: the stem of its file.")
    kind: Name = about("The module of `trimtab.tuning.tuners` that builds it.")
    label: str = about("Its name in tables and charts.", default="", report_only=True)
    parameters: dict[str, Any] = about(
        "What the tuner is made with: the module's documentation lists the keys.", factory=dict
    )
    after: Name | None = about(
        "The tuner whose searches of a workload come before its own, which begin with what those "
        "have learnt: the ground truth is shared. Null: none.",
        default=None,
    )
