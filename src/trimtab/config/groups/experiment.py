"""What is run and reported together: one YAML in `conf/experiment/`."""

from enum import StrEnum
from typing import Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    Count,
    InvalidValueError,
    Name,
    Names,
    Positive,
    Runs,
    SomeNames,
    about,
)
from trimtab.config.groups.protection.protect import Protect
from trimtab.config.validate import keys_of

# Keys that say how, not what is run.
_OF_NO_STAGE = {"name", "title", "hardware", "fleets"}
Platform = StrEnum("Platform", "SPARK SLURM")  # where cells can be run for real


@dataclass(config=CHECKED)
class Schedule:
    """The cells that are scheduled: clusters x traces x policies."""

    clusters: Names = about("Names of files in `conf/cluster/`.", factory=list)
    traces: Names = about("Names of files in `conf/trace/`.", factory=list)
    policies: Names = about("Names of files in `conf/policy/`.", factory=list)
    objectives: Names = about(
        "Names of files in `conf/objective/`: the deflator searches for each.", factory=list
    )
    baseline: str = about(
        "The policy that others are compared with: the first, if empty.", default=""
    )
    replications: Runs = about("Simulations of each cell, with seeds of their own.", default=1)
    formula: bool = about("Whether response times are calculated too.", default=False)
    real: Platform | None = about(
        f"Where the trace is run for real too: {' or '.join(Platform)}; null: nowhere.",
        default=None,
    )
    real_scale: Positive = about(
        "Seconds of a real run on Slurm for each second of the trace.", default=1.0
    )

    @model_validator(mode="after")
    def _names_whole_cells(self) -> Self:
        cells = {"clusters": self.clusters, "traces": self.traces, "policies": self.policies}
        for key, names in cells.items():
            if any(cells.values()) and not names:
                raise InvalidValueError(key, [], "at least one name")
        if self.objectives and not self.clusters:
            raise InvalidValueError("clusters", [], "a cluster, a trace and a policy")
        if self.baseline and self.baseline not in self.policies:
            raise InvalidValueError("baseline", self.baseline, "one of the policies")
        return self

    def __bool__(self) -> bool:
        """Whether anything is scheduled."""
        return bool(self.policies)

    @property
    def baseline_policy(self) -> str:
        """The policy that others are compared with."""
        return self.baseline or self.policies[0]


@dataclass(config=CHECKED)
class Tune:
    """The cells that are tuned: tuners x workloads x objectives, on the experiment's hardware."""

    tuners: Names = about("Names of files in `conf/tuner/`.", factory=list)
    workloads: Names = about(
        "Names of files in `conf/workload/`; each has a key `tuning`.", factory=list
    )
    objectives: Names = about("Names of files in `conf/objective/`.", factory=lambda: ["accuracy"])
    seeds: Runs = about("Searches of each cell, with the seeds 1, 2 and so on.", default=1)
    workers: Count = about(
        "Trials that name no `cores` have a share of the CPUs each, for so many at once.", default=1
    )
    machines: Count = about(
        "Jobs that share the trials of a search, each on a machine of its own.", default=1
    )
    inference_alone: bool = about(
        "Whether what using models costs, which was measured beside training, is measured again "
        "with nothing beside it.",
        default=False,
    )
    database: str | None = about(
        "Address of a PostgreSQL database for the journals, `postgresql://host/database`; null: "
        "files beside the trials.",
        default=None,
    )

    @model_validator(mode="after")
    def _names_whole_cells(self) -> Self:
        cells = {"tuners": self.tuners, "workloads": self.workloads}
        for key, names in cells.items():
            if any(cells.values()) and not names:
                raise InvalidValueError(key, [], "at least one name")
        if self.tuners and not self.objectives:
            raise InvalidValueError("objectives", [], "at least one name")
        return self

    def __bool__(self) -> bool:
        """Whether anything is tuned."""
        return bool(self.tuners)


@dataclass(config=CHECKED)
class Experiment:
    """The cells of an experiment: targets x hardware, and what is scheduled.

    A target is a slim environment that keeps what all its workloads use.
    """

    name: Name = about("Name of the experiment: the stem of its file.")
    hardware: Names = about(
        "Names of files in `conf/hardware/` that the targets run on.", factory=list
    )
    targets: dict[Name, SomeNames] = about(
        "For each target, the workloads (names of files in `conf/workload/`) whose union it "
        "keeps. `${target:NAME}` is one target NAME for the workload NAME.",
        factory=dict,
    )
    fleets: dict[Name, SomeNames] = about(
        "For each fleet, the targets, images that begin with the same layers: they are made slim "
        "again together, so that they share a layer.",
        factory=dict,
    )
    schedule: Schedule = about("The cells that are scheduled.", factory=Schedule)
    tune: Tune = about("The cells that are tuned.", factory=Tune)
    growth: Names = about(
        "Names of files in `conf/code_base/`: how many lines these have, and from when.",
        factory=list,
    )
    characterizations: Names = about(
        "Names of files in `conf/characterization/`: what parameters do to learning on Spark.",
        factory=list,
    )
    protect: Protect = about("The task programs that are protected.", factory=Protect)
    title: str = about("Heading of the report.", default="", report_only=True)

    @model_validator(mode="after")
    def _has_something_to_run(self) -> Self:
        stages = [key for key in keys_of(Experiment) if key not in _OF_NO_STAGE]
        if not any(getattr(self, key) for key in stages):
            expected = f"something to run, by one of the keys {', '.join(stages)}"
            raise InvalidValueError("targets", {}, expected)
        on_hardware = (self.targets, self.tune, self.characterizations, self.protect)
        if any(on_hardware) and not self.hardware:
            raise InvalidValueError("hardware", [], "at least one name")
        return self

    @model_validator(mode="after")
    def _has_fleets_of_its_targets(self) -> Self:
        for name, members in self.fleets.items():
            if len(set(members)) < 2 or not self.targets.keys() >= set(members):
                raise InvalidValueError(
                    f"fleets.{name}", members, "at least two targets of the experiment"
                )
        return self

    @property
    def workloads(self) -> list[str]:
        """The workloads of all targets, each once, in the order of their first mention."""
        return list(dict.fromkeys(name for names in self.targets.values() for name in names))
