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
from trimtab.config.groups.jobs.worth import WorthCells
from trimtab.config.groups.protection.protect import Protect
from trimtab.config.validate import keys_of

# Keys that say how, not what is run.
_OF_NO_STAGE = {"name", "title", "hardware", "fleets"}
Platform = StrEnum("Platform", "SPARK SLURM")  # where cells can be run for real


@dataclass(config=CHECKED)
class Schedule:
    """The cells that are scheduled: clusters x traces x policies."""

    clusters: Names = about("Files in `conf/cluster/`.", factory=list)
    traces: Names = about("Files in `conf/trace/`.", factory=list)
    policies: Names = about("Files in `conf/policy/`.", factory=list)
    objectives: Names = about(
        "Files in `conf/objective/`: the deflator searches for each.", factory=list
    )
    baseline: str = about("The policy to compare with; empty: the first.", default="")
    replications: Runs = about("Simulations of each cell, each with its seed.", default=1)
    formula: bool = about("Whether response times are calculated too.", default=False)
    real: Platform | None = about(
        "Where the trace also runs for real; null: nowhere.",
        default=None,
    )
    real_scale: Positive = about(
        "Seconds of a real Slurm run per second of the trace.", default=1.0
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

    tuners: Names = about("Files in `conf/tuner/`.", factory=list)
    workloads: Names = about("Files in `conf/workload/` with a key `tuning`.", factory=list)
    objectives: Names = about("Files in `conf/objective/`.", factory=lambda: ["accuracy"])
    seeds: Runs = about("Searches of each cell, with seeds from 1.", default=1)
    workers: Count = about(
        "Trials at once: those that name no `cores` share the CPUs equally.", default=1
    )
    machines: Count = about(
        "Jobs that share a search's trials, each on its own machine.", default=1
    )
    inference_alone: bool = about(
        "Whether inference measured beside training is measured again alone.",
        default=False,
    )
    database: str | None = about(
        "PostgreSQL database of the journals, `postgresql://host/database`; null: files.",
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
    """The cells of an experiment: targets x hardware, searches and schedules.

    A target is a slim environment that keeps the union of its workloads' use.
    """

    name: Name = about("The file's stem.")
    hardware: Names = about("Files in `conf/hardware/` that the targets run on.", factory=list)
    targets: dict[Name, SomeNames] = about(
        "The workloads (in `conf/workload/`) of each target. `${target:NAME}` is a target NAME of "
        "the workload NAME.",
        factory=dict,
    )
    fleets: dict[Name, SomeNames] = about(
        "The targets of each fleet: images of one base, made slim again to share a layer.",
        factory=dict,
    )
    schedule: Schedule = about("The cells that are scheduled.", factory=Schedule)
    tune: Tune = about("The cells that are tuned.", factory=Tune)
    worth: WorthCells = about("What each stage is worth to jobs.", factory=WorthCells)
    growth: Names = about(
        "Files in `conf/code_base/`, whose lines are counted by year.",
        factory=list,
    )
    characterizations: Names = about(
        "Files in `conf/characterization/`.",
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
