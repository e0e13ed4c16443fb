"""The whole configuration: one choice of each group, and what belongs to no group."""

import typing
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, Number, Runs, RunsOrNone, about
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.code_base import CodeBase
from trimtab.config.groups.debloat import Debloat
from trimtab.config.groups.enclave import Enclave
from trimtab.config.groups.experiment import Experiment
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.learning.characterization import Characterization
from trimtab.config.groups.learning.workload import LearningWorkload
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import keys_of


@dataclass(config=CHECKED)
class Profiling:
    """The measured runs of the stage `profile`."""

    repeats: Runs = about("Measured runs of each workload.", default=3)
    traced_runs: Runs = about(
        "Runs in which functions are traced, each with other CPUs, threads and caches; their "
        "union is kept.",
        default=1,
    )
    sample_interval_s: Annotated[Number, Field(ge=0.01)] = about(
        "Time between readings of the counters.", default=1.0, unit="s"
    )


@dataclass(config=CHECKED)
class Settle:
    """The runs in the slim environment by which it is built again with what they missed."""

    clean_runs: RunsOrNone = about(
        "Runs of each workload in a row, each under another condition, that must miss nothing; 0: "
        "none.",
        default=5,
    )
    rebuilds: Runs = about(
        "Most rebuilds; after them the environment is delivered as it is.",
        default=5,
    )


@dataclass(config=CHECKED)
class Verify:
    """The runs that compare the original environment with the slim one."""

    repeats: Runs = about("Runs of each workload in each environment, in turn.", default=5)


@dataclass(config=CHECKED)
class RootConfig:
    """What `conf/config.yaml` and the chosen file of each group add up to.

    A class with a `name`, the stem of a file in the folder `conf/{group}`, makes a group.
    """

    workload: Workload
    hardware: Hardware
    debloat: Debloat
    cluster: ClusterConfig
    trace: TraceConfig
    policy: PolicyConfig
    objective: Objective
    tuner: TunerConfig
    code_base: CodeBase
    learning: LearningWorkload
    characterization: Characterization
    enclave: Enclave
    task_program: TaskProgram
    experiment: Experiment
    profiling: Profiling = about("The measured runs.", factory=Profiling)
    settle: Settle = about("The runs that show what is missed.", factory=Settle)
    verify: Verify = about("The runs that compare.", factory=Verify)


GROUPS: dict[str, type] = {
    name: kind
    for name, kind in typing.get_type_hints(RootConfig).items()
    if "name" in keys_of(kind)
}
