"""What each stage is given: exactly the parts of the configuration that it uses, as JSON.

Snakemake reruns a job when what its results depend on of this changes, and only then: a key that a
stage does not use is not in its text.
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    ConfigError,
    Count,
    Name,
    Positive,
    Runs,
    SomeNames,
    Text,
    satisfying,
)
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.code_base import CodeBase
from trimtab.config.groups.debloat import Debloat, Fallback, Share, Start
from trimtab.config.groups.enclave import Enclave
from trimtab.config.groups.experiment import Experiment, Platform
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.worth import PricesConfig, WorthCells
from trimtab.config.groups.learning.characterization import Characterization
from trimtab.config.groups.learning.workload import LearningWorkload
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.protection.protect import Protect
from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Workload
from trimtab.config.root import GROUPS, Profiling, Settle, Verify
from trimtab.config.validate import checked
from trimtab.files import parse_json

Stage = TypeVar("Stage")
SomeWorkloads = Annotated[list[Workload], satisfying(len, "at least one workload")]


@dataclass(config=CHECKED)
class ProfileStage:
    """What profiling one workload on one machine depends on.

    `keep_libraries` are of the debloat YAML: what stays as it is is not traced either.
    """

    workload: Workload
    hardware: Hardware
    profiling: Profiling
    keep_libraries: list[Text] = dataclasses.field(default_factory=list)


@dataclass(config=CHECKED)
class DebloatStage:
    """What debloating the libraries of one target depends on."""

    target: Name
    hardware: Name
    gpus: list[str]
    workloads: SomeWorkloads
    debloat: Debloat
    settle: Settle = dataclasses.field(default_factory=Settle)


@dataclass(config=CHECKED)
class EnvironmentStage:
    """What building a slim environment depends on, besides the slim libraries."""

    share: Share
    fallback: Fallback
    store: str | None = None
    store_address: str | None = None


@dataclass(config=CHECKED)
class VerifyStage:
    """What verifying a slim environment depends on."""

    target: Name
    workloads: SomeWorkloads
    hardware: Hardware
    verify: Verify


@dataclass(config=CHECKED)
class StartStage:
    """What saving the starts of a slim environment's programs depends on."""

    target: Name
    hardware: Name
    workloads: SomeWorkloads
    start: Start


@dataclass(config=CHECKED)
class FleetStage:
    """What making images slim together depends on: for each target the names of its workloads."""

    targets: dict[Name, SomeNames]


@dataclass(config=CHECKED)
class TraceStage:
    """What the jobs of a trace, as a cluster meets them, depend on.

    `enclaves` are those that its node types name, where some class of the trace is secure.
    """

    cluster: ClusterConfig
    hardware: list[Hardware]
    trace: TraceConfig
    enclaves: list[Enclave] = dataclasses.field(default_factory=list, kw_only=True)


@dataclass(config=CHECKED)
class ScheduleStage(TraceStage):
    """What scheduling a trace on a cluster with a policy depends on."""

    policy: PolicyConfig
    replications: Runs
    baseline: bool


@dataclass(config=CHECKED)
class DeflateStage(TraceStage):
    """What the deflator's search for an objective depends on."""

    objective: Objective


@dataclass(config=CHECKED)
class WorthStage(TraceStage):
    """What the worth of each stage to a trace depends on; `worth` names this cell alone."""

    worth: WorthCells
    prices: PricesConfig


@dataclass(config=CHECKED)
class RealStage(ScheduleStage):
    """What running a trace for real depends on."""

    platform: Platform
    scale: Positive


@dataclass(config=CHECKED)
class TuneStage:
    """What tuning a workload on a machine for an objective depends on."""

    workload: Workload
    hardware: Hardware
    tuner: TunerConfig
    objective: Objective
    seeds: Runs
    workers: Count
    machines: Count = 1
    database: str | None = None
    inference_workload: Workload | None = None
    inference_hardware: Hardware | None = None


@dataclass(config=CHECKED)
class GrowthStage:
    """What counting the lines of a code base depends on; `tip` is the commit of its revision."""

    code_base: CodeBase
    tip: str


@dataclass(config=CHECKED)
class CharacterizeStage:
    """What characterizing learning workloads on Spark depends on; `hardware` tells the power."""

    characterization: Characterization
    workloads: Annotated[list[LearningWorkload], satisfying(len, "at least one workload")]
    hardware: Hardware


@dataclass(config=CHECKED)
class ProtectStage:
    """What running a task program in enclaves depends on; `hardware` tells the power.

    `enclaves` are those whose costs are simulated; `protect` names no programs.
    """

    program: TaskProgram
    protect: Protect
    enclaves: list[Enclave]
    hardware: Hardware


def _options(given: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {
        group: [checked(option, GROUPS[group], group) for option in options]
        for group, options in given.items()
    }


@dataclass(config=CHECKED)
class EvaluateStage:
    """What the report of an experiment describes: options of the configuration by group."""

    experiment: Experiment
    options: Annotated[dict[str, list[Any]], AfterValidator(_options)]


@dataclass(config=CHECKED)
class ResolvedConfig(EvaluateStage):
    """Everything that an experiment was run with, for people and `dvc params diff`."""

    debloat: Debloat
    profiling: Profiling
    settle: Settle
    verify: Verify


def dump(stage: Any, *, results_only: bool = False) -> str:
    """Return a stage's configuration as canonical JSON, or with `results_only` what its results
    depend on of it.

    Keys that only the report shows are left out of every stage but EvaluateStage, those that only
    tuning reads of all but that and TuneStage, those that only scheduling reads of all but that and
    TraceStage, and those that only verification reads of all but VerifyStage: editing them measures
    nothing again.
    """
    left_out = set()
    if results_only and not isinstance(stage, ResolvedConfig):  # which is a result by itself
        left_out.add("no_result")
    if not isinstance(stage, EvaluateStage):
        left_out.add("report_only")
        if not isinstance(stage, TuneStage):
            left_out.add("tuning_only")
        if not isinstance(stage, TraceStage):
            left_out.add("schedule_only")
        if not isinstance(stage, VerifyStage | ResolvedConfig):
            left_out.add("verify_only")
    return json.dumps(_plain(stage, left_out), sort_keys=True)


def load(text: str | bytes, kind: type[Stage], source: str = "--config") -> Stage:
    """Return the configuration of class `kind` that `dump` wrote.

    Raises ConfigError, which names the `source`, when the text is not JSON or does not fit the
    class.
    """
    try:
        return checked(parse_json(text), kind)
    except ValueError as error:
        raise ConfigError(f"{source}: {' '.join(str(error).split())}") from None


def read(path: Path, kind: type[Stage]) -> Stage:
    """Return the configuration of class `kind` in a file that a job is given.

    Raises ConfigError, which names the file, when it cannot be read or does not fit the class.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"--config: {path}: {error.strerror}") from None
    return load(text, kind, f"--config: {path}")


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
