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
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.debloat import Debloat
from trimtab.config.groups.experiment import Experiment
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.groups.workload import Workload
from trimtab.config.mistakes import ConfigError
from trimtab.config.profiling import Profiling, Verify

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
class TraceStage:
    """What the jobs of a trace, as a cluster meets them, depend on."""

    cluster: ClusterConfig = MISSING
    hardware: list[Hardware] = MISSING
    trace: TraceConfig = MISSING


@dataclass
class ScheduleStage(TraceStage):
    """What scheduling a trace on a cluster with a policy depends on."""

    policy: PolicyConfig = MISSING
    replications: int = MISSING
    baseline: bool = MISSING


@dataclass
class DeflateStage(TraceStage):
    """What the deflator's search for an objective depends on."""

    objective: Objective = MISSING


@dataclass
class RealStage(ScheduleStage):
    """What running a trace for real depends on."""

    engine: str = MISSING
    scale: float = MISSING


@dataclass
class EvaluateStage:
    """What the report of an experiment says of its cells."""

    experiment: Experiment = MISSING
    workloads: list[Workload] = MISSING
    hardware: list[Hardware] = MISSING
    policies: list[PolicyConfig] = MISSING


@dataclass
class Resolved(EvaluateStage):
    """Everything that an experiment was run with, for people and `dvc params diff`."""

    debloat: Debloat = MISSING
    profiling: Profiling = MISSING
    verify: Verify = MISSING
    clusters: list[ClusterConfig] = MISSING
    traces: list[TraceConfig] = MISSING
    objectives: list[Objective] = MISSING


def dump(stage: Any) -> str:
    """Return a stage's configuration as canonical JSON.

    Keys that only the report shows are left out of every stage but EvaluateStage, and keys that
    only scheduling reads of all but that and TraceStage: editing them measures nothing again.
    """
    left_out = set()
    if not isinstance(stage, EvaluateStage):
        left_out.add("report_only")
        if not isinstance(stage, TraceStage):
            left_out.add("schedule_only")
    return json.dumps(_plain(stage, left_out), sort_keys=True)


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


def _plain(value: Any, left_out: set[str]) -> Any:
    if dataclasses.is_dataclass(value):
        return {
            spec.name: _plain(getattr(value, spec.name), left_out)
            for spec in dataclasses.fields(value)
            if not any(spec.metadata.get(kind) for kind in left_out)
        }
    if isinstance(value, list):
        return [_plain(item, left_out) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item, left_out) for key, item in value.items()}
    return value
