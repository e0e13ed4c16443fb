"""The whole configuration: one choice of each group, and what belongs to no group."""

import dataclasses
import pkgutil
import typing
from importlib import import_module
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.config import groups
from trimtab.config.fields import CHECKED, Number, Runs, RunsOrNone, about
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.debloat import Debloat
from trimtab.config.groups.experiment import Experiment
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import keys_of


@dataclass(config=CHECKED)
class Profiling:
    """The measured runs of the stage `profile`."""

    repeats: Runs = about("Measured runs of each workload.", default=3)
    traced_runs: Runs = about(
        "Runs with traced functions, each with other CPUs, threads and caches; their union is "
        "kept.",
        default=1,
        option="runs",
    )
    sample_interval_s: Annotated[Number, Field(ge=0.01)] = about(
        "Time between readings of the counters.", default=1.0, unit="s"
    )


@dataclass(config=CHECKED)
class Settle:
    """The runs in the slim environment whose misses a rebuild adds."""

    clean_runs: RunsOrNone = about(
        "Runs of each workload in a row, under varied conditions, that must miss nothing; 0: none.",
        default=5,
        option="settle",
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
class CommonConfig:
    """What several stages read of the configuration.

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
    experiment: Experiment
    profiling: Profiling = about("The measured runs.", factory=Profiling)
    settle: Settle = about("The runs that show what is missed.", factory=Settle)
    verify: Verify = about("The runs that compare.", factory=Verify)


def _groups_of_stages() -> dict[str, type]:
    """Return the groups of single stages: the classes in `groups` that say their `group`."""
    modules = pkgutil.walk_packages(groups.__path__, f"{groups.__name__}.")
    kinds = [kind for module in modules for kind in vars(import_module(module.name)).values()]
    found = {kind.group: kind for kind in kinds if isinstance(getattr(kind, "group", None), str)}
    return dict(sorted(found.items()))


OF_STAGES = _groups_of_stages()
# What `conf/config.yaml` and the chosen file of each group add up to.
RootConfig: Any = dataclass(config=CHECKED, kw_only=True)(
    dataclasses.make_dataclass("RootConfig", OF_STAGES.items(), bases=(CommonConfig,), kw_only=True)
)
GROUPS: dict[str, type] = {
    name: kind
    for name, kind in typing.get_type_hints(RootConfig).items()
    if "name" in keys_of(kind)
}
