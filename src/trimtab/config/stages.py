"""What each stage is given: exactly the parts of the configuration that it uses, as JSON.

Snakemake reruns a job when this text changes, and only then: a key that a stage does not use is
not in its text.
"""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, TypeVar

from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from trimtab.config.check import checked
from trimtab.config.debloat import Debloat
from trimtab.config.experiment import Experiment
from trimtab.config.hardware import Hardware
from trimtab.config.mistakes import ConfigError
from trimtab.config.profiling import Profiling, Verify
from trimtab.config.workload import Workload

Stage = TypeVar("Stage")


@dataclass
class ProfileStage:
    """What profiling one workload on one machine depends on."""

    workload: Workload = MISSING
    hardware: Hardware = MISSING
    profiling: Profiling = MISSING


@dataclass
class DebloatStage:
    """What debloating the libraries of one target depends on."""

    target: str = MISSING
    hardware: str = MISSING
    gpus: list[str] = MISSING
    workloads: list[Workload] = MISSING
    debloat: Debloat = MISSING


@dataclass
class EnvironmentStage:
    """What building a slim environment depends on, besides the slim libraries."""

    python: str = MISSING
    share: str = MISSING
    fallback: str = MISSING


@dataclass
class VerifyStage:
    """What verifying a slim environment depends on."""

    target: str = MISSING
    workloads: list[Workload] = MISSING
    hardware: Hardware = MISSING
    verify: Verify = MISSING


@dataclass
class EvaluateStage:
    """What the report of an experiment says of its cells."""

    experiment: Experiment = MISSING
    workloads: list[Workload] = MISSING
    hardware: list[Hardware] = MISSING


@dataclass
class Resolved(EvaluateStage):
    """Everything that an experiment was run with, for people and `dvc params diff`."""

    debloat: Debloat = MISSING
    profiling: Profiling = MISSING
    verify: Verify = MISSING


def dump(stage: Any) -> str:
    """Return a stage's configuration as canonical JSON.

    Keys that only the report shows are left out of every stage but EvaluateStage, so that editing
    a description measures nothing again.
    """
    document = _plain(stage, with_report_only=isinstance(stage, EvaluateStage))
    return json.dumps(document, sort_keys=True)


def load(text: str, kind: type[Stage]) -> Stage:
    """Return the configuration of class `kind` that `dump` wrote.

    Raises ConfigError when the text is not JSON or does not fit the class.
    """
    try:
        given = json.loads(text)
        return checked(OmegaConf.merge(OmegaConf.structured(kind), given), kind)
    except (ValueError, OmegaConfBaseException) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise ConfigError(f"--config: {' '.join(line.strip() for line in lines)}") from None


def _plain(value: Any, with_report_only: bool) -> Any:
    if dataclasses.is_dataclass(value):
        return {
            spec.name: _plain(getattr(value, spec.name), with_report_only)
            for spec in dataclasses.fields(value)
            if with_report_only or not spec.metadata.get("report_only")
        }
    if isinstance(value, list):
        return [_plain(item, with_report_only) for item in value]
    return value
