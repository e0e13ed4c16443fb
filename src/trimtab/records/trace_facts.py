"""`trace.json`: the properties of a trace on a cluster."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import FailFast, model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.imports.saved_starts import WorkloadStart
from trimtab.records.measured_rounds import RoundTimes
from trimtab.records.values import Amount, EnergySource, Measure, Share, Text, Whole, one_of


class ServiceSource(StrEnum):
    """The origin of the service times of a trace's jobs."""

    MEASURED_ROUNDS = "rounds measured on a real engine"
    PROFILE = "profile and debloat of this experiment"
    RECORDED = "recorded trace"
    DRAWN = "drawn from the trace's YAML"


@dataclass(frozen=True, config=PART)
class MeasuredWorkload:
    """A workload in one environment, from the runs that compared both in turn.

    `work_s` are the service times of these runs, without start-up; `cold_start_s` is the mean time
    from a process's start to its first iteration. `image_bytes` are the environment's shared
    libraries, compressed, as a pull moves them. With `image_start` they are all layers of its
    image, and `cold_start_s` is the median time to unpack and start it. `active_w` is the mean
    power above idle. Values without a clear difference between both environments are from all runs
    in both: `no_clear_change` names these among `work_s`, `cold_start_s` and `active_w`.
    """

    workload: Text
    hardware: Text
    environment: Annotated[str, one_of("original", "debloated")]
    work_s: tuple[Amount, ...]
    cold_start_s: Amount
    image_bytes: Whole
    memory_bytes: Whole
    active_w: Amount | None
    energy_source: EnergySource
    no_clear_change: tuple[Text, ...]


class MeasuredPair(Document):
    """A workload in both environments, measured on another machine; `source` says how.

    `start` is that of its program in the slim environment, if it was saved.
    """

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    source: Text
    original: MeasuredWorkload
    debloated: MeasuredWorkload
    start: WorkloadStart | None = None

    @model_validator(mode="after")
    def _is_one_workload_in_each(self) -> Self:
        if (self.original.environment, self.debloated.environment) != ("original", "debloated"):
            raise ValueError("original, debloated: not in these environments")
        if self.original.workload != self.debloated.workload:
            raise ValueError("debloated: another workload than the original's")
        if self.start is not None and self.start.workload != self.original.workload:
            raise ValueError("start: another workload than the original's")
        return self


@dataclass(frozen=True, config=PART)
class ClassFacts:
    """The jobs of one class.

    `mean_work_s` is null if a job's service time is drawn when it starts. `accuracy_loss` are
    points of drop ratio (0 to 1) and loss in per cent.
    """

    jobs: Whole
    arrival_rate_per_s: Amount
    mean_work_s: Amount | None
    accuracy_loss: list[tuple[Share, Measure]]
    measured: MeasuredWorkload | None


@dataclass(frozen=True, config=PART)
class ArrivalCounts:
    """The jobs of each class that arrive in each bin of `bin_s` seconds, from the start."""

    bin_s: Amount
    classes: dict[Text, Annotated[list[Whole], FailFast()]]


class TraceFacts(Document):
    """A trace on a cluster.

    `skipped` counts the left-out rows of a recorded trace, by reason. `original` is, by class, the
    workload in the original environment, on which a load is based; `rounds` are the times of the
    classes whose programs were measured on a real engine.
    """

    stage: ClassVar[str] = "schedule"
    version: Literal[2] = 2
    trace: Text
    cluster: Text
    jobs: Whole
    classes: dict[Text, ClassFacts]
    arrivals: ArrivalCounts
    skipped: dict[Text, Whole]
    original: dict[Text, MeasuredWorkload]
    rounds: dict[Text, RoundTimes]
    service_source: ServiceSource

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.jobs != sum(facts.jobs for facts in self.classes.values()):
            raise ValueError("jobs: not what those of the classes add up to")
        for key, names in (
            ("arrivals.classes", self.arrivals.classes),
            ("original", self.original),
            ("rounds", self.rounds),
        ):
            if strange := names.keys() - self.classes.keys():
                raise ValueError(f"{key}: {min(strange)!r} is none of the classes")
        return self

    @property
    def measured(self) -> dict[str, MeasuredWorkload]:
        """The workloads of the classes that earlier stages measured."""
        return {
            name: facts.measured
            for name, facts in self.classes.items()
            if facts.measured is not None
        }

    @property
    def accuracy_loss(self) -> dict[str, list[tuple[float, float]]]:
        """The accuracy loss of dropping tasks, for the classes where it is known."""
        return {
            name: facts.accuracy_loss for name, facts in self.classes.items() if facts.accuracy_loss
        }
