"""Jobs that arrive at a cluster: one YAML in `conf/trace/`."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    Name,
    NotNegative,
    Number,
    Parts,
    Phases,
    Positive,
    Seed,
    SomeParts,
    Whole,
    about,
)
from trimtab.config.groups.enclave import SecureOrNot
from trimtab.config.groups.jobs.arrivals import (
    ArrivalKind,
    ArrivalsConfig,
    Matrix,
    TraceFormat,
    check_markovian,
    check_modulated,
)
from trimtab.config.groups.jobs.waves import WaveConfig

# Of service times, and of the times of a job's tasks.
Distribution = StrEnum(
    "Distribution", "DETERMINISTIC EXPONENTIAL ERLANG UNIFORM LOGNORMAL HYPEREXPONENTIAL"
)
TaskDistribution = StrEnum("TaskDistribution", "DETERMINISTIC EXPONENTIAL ERLANG LOGNORMAL")
Stages = Annotated[SomeParts, Field(le=1_000)]
JobEnvironment = StrEnum("JobEnvironment", "ORIGINAL DEBLOATED")
SparkProgramName = StrEnum("SparkProgramName", "WORD_POPULARITY TRIANGLE_COUNT")


@dataclass(config=CHECKED)
class WorkConfig:
    """The service time of a job on the reference node."""

    distribution: Distribution = about("Of the service time.", default=Distribution.EXPONENTIAL)
    mean_s: NotNegative = about("Mean service time.", default=0.0, unit="s")
    scv: NotNegative = about(
        "Squared coefficient of variation of `lognormal` and `hyperexponential`.", default=1.0
    )
    phases: Phases = about("Phases of `erlang`.", default=1)
    minimum_s: NotNegative = about("Shortest of `uniform`.", default=0.0, unit="s")
    maximum_s: Number = about("Longest of `uniform`.", default=0.0, unit="s")

    @model_validator(mode="after")
    def _maximum_is_no_less(self) -> Self:
        if self.maximum_s < self.minimum_s:
            expected = f"a number of at least {self.minimum_s:g}"
            raise InvalidValueError("maximum_s", self.maximum_s, expected)
        return self


@dataclass(config=CHECKED)
class RoundsConfig:
    """A job of map tasks, a shuffle and reduce tasks (Rocha's thesis, table 4.1)."""

    map_tasks: Parts = about("Map tasks of each stage; 0: not a job of rounds.", default=0)
    map_stages: Stages = about(
        "Stages of map tasks, one after the other. Each drops tasks of those that the one before "
        "has left.",
        default=1,
    )
    reduce_tasks: Parts = about("Reduce tasks.", default=0)
    set_up_s: NotNegative = about("Mean time before the tasks.", default=0.0, unit="s")
    map_task_s: NotNegative = about("Mean time of a map task.", default=0.0, unit="s")
    shuffle_s: NotNegative = about("Mean time between map and reduce tasks.", default=0.0, unit="s")
    reduce_task_s: NotNegative = about("Mean time of a reduce task.", default=0.0, unit="s")
    distribution: TaskDistribution = about(
        "Of each of these times.", default=TaskDistribution.EXPONENTIAL
    )
    scv: NotNegative = about("Squared coefficient of variation of `lognormal`.", default=1.0)
    phases: Phases = about("Phases of `erlang`.", default=1)
    size_scv: NotNegative = about(
        "Squared coefficient of variation of jobs' sizes (lognormal, mean 1), factors of task "
        "times.",
        default=0.0,
    )
    map_wave: WaveConfig = about(
        "Time of a wave, as many map tasks as run at once, instead of `map_task_s`.",
        factory=WaveConfig,
    )
    reduce_wave: WaveConfig = about(
        "Time of a wave of reduce tasks, instead of `reduce_task_s`.", factory=WaveConfig
    )

    @model_validator(mode="after")
    def _waves_or_tasks(self) -> Self:
        has_waves = bool(self.map_wave.start)
        expected = "waves of both map and reduce tasks, or of none"
        if has_waves and self.reduce_tasks and not self.reduce_wave.start:
            raise InvalidValueError("reduce_wave.start", [], expected)
        if self.reduce_wave.start and not has_waves:
            raise InvalidValueError("map_wave.start", [], expected)
        for key in ("map_task_s", "reduce_task_s"):
            if has_waves and getattr(self, key):
                raise InvalidValueError(key, getattr(self, key), "none with `map_wave`")
        return self


@dataclass(config=CHECKED)
class JobClassConfig:
    """Jobs of one kind: what they ask for, how long they take, how important they are."""

    priority: Whole = about("Higher is more important.", default=0)
    share: Positive = about("Share of jobs, relative to other classes.", default=1.0)
    cores: Positive = about("Cores of a job.", default=1.0)
    gpus: NotNegative = about("GPUs of a job.", default=0.0)
    memory_gib: NotNegative = about("Memory of a job.", default=0.0, unit="GiB")
    work: WorkConfig = about("How long a job takes.", factory=WorkConfig)
    rounds: RoundsConfig = about("Of a job of tasks, instead of `work`.", factory=RoundsConfig)
    workload: str = about(
        "A workload of this experiment, for service time, energy, memory, image size and cold "
        "start.",
        default="",
    )
    environment: JobEnvironment = about(
        "Environment of `workload`.",
        default=JobEnvironment.ORIGINAL,
    )
    image_start: str = about(
        "With `workload`: a file of `trimtab image start --output`, for image size and cold "
        "start. Its first image stands for `original`, its second for `debloated`.",
        default="",
    )
    measured: str = about(
        "Instead of `workload`: a file of what `trimtab` measured of one elsewhere, in both "
        "environments (`MeasuredPair`). Its machine has to be one of the cluster's.",
        default="",
    )
    secure: SecureOrNot = about(
        "Whether jobs (with `rounds`, their tasks) run in enclaves only: `true`, or what they do "
        "at the border; also by a secure `workload`.",
        default=None,
    )
    image_gb: NotNegative = about("Image size.", default=0.0, unit="GB")
    cold_start_s: NotNegative = about(
        "From the image's arrival to the first work.", default=0.0, unit="s"
    )
    state_gb: NotNegative = about("Data of a stateful migration.", default=0.0, unit="GB")
    program: SparkProgramName | None = about(
        "The jobs' program on a real Spark. Measured times of its rounds replace `rounds`.",
        default=None,
    )
    input: str = about(
        "With `program`: posts in XML, or a list of edges; empty: made for it.", default=""
    )
    input_mb: Positive = about("With `word_popularity`: size of the posts.", default=2.0, unit="MB")
    accuracy_loss: Matrix = about(
        "Pairs of drop ratio and accuracy loss in per cent; linear between.", factory=list
    )

    @model_validator(mode="after")
    def _waves_are_of_plain_jobs(self) -> Self:
        if self.rounds.map_wave.start and (self.program or self.secure):
            expected = "none with `program` or `secure`, which set the times of tasks"
            raise InvalidValueError("rounds.map_wave.start", self.rounds.map_wave.start, expected)
        return self

    @model_validator(mode="after")
    def _start_is_of_a_workload(self) -> Self:
        if self.image_start and not self.workload:
            raise InvalidValueError("image_start", self.image_start, "none without `workload`")
        if self.measured and self.workload:
            raise InvalidValueError("measured", self.measured, "none beside `workload`")
        return self

    @model_validator(mode="after")
    def _losses_are_pairs(self) -> Self:
        for position, pair in enumerate(self.accuracy_loss):
            if len(pair) != 2 or not 0 <= pair[0] <= 1:
                expected = "a drop ratio, 0 to 1, and a loss in per cent"
                raise InvalidValueError(f"accuracy_loss[{position}]", pair, expected)
        return self


@dataclass(config=CHECKED)
class TraceConfig:
    """Arrivals and classes of jobs, drawn from one seed or read from a file."""

    name: Name = about("The file's stem.")
    seed: Seed = about("Seed of all that is drawn.", default=1)
    arrivals: ArrivalsConfig = about("When jobs arrive.", factory=ArrivalsConfig)
    classes: dict[str, JobClassConfig] = about(
        "The classes of jobs by name. With `file`: those of the file, if empty.", factory=dict
    )
    description: str = about("For the report.", default="", report_only=True)

    @model_validator(mode="after")
    def _arrivals_are_whole(self) -> Self:
        # Here and not in ArrivalsConfig, whose defaults alone are no arrivals yet.
        given = self.arrivals
        if given.kind == ArrivalKind.FILE:
            if given.format is None:
                expected = f"one of {', '.join(TraceFormat)}"
                raise InvalidValueError("arrivals.format", None, expected)
            if not given.files:
                raise InvalidValueError("arrivals.files", {}, "at least one table with its files")
            return self
        if not self.classes:
            raise InvalidValueError("classes", {}, "at least one class of jobs")
        _more_than_0("arrivals.jobs", given.jobs)
        if given.kind == ArrivalKind.POISSON and (given.load > 0) == (given.rate_per_s > 0):
            raise InvalidValueError("arrivals.load", given.load, "either load or rate_per_s")
        if given.kind == ArrivalKind.BURSTS:
            _more_than_0("arrivals.bursts", given.bursts)
            _more_than_0("arrivals.horizon_s", given.horizon_s)
        if given.kind == ArrivalKind.MARKOVIAN:
            check_markovian(given, self.classes)
        if given.kind == ArrivalKind.MODULATED:
            check_modulated(given, self.classes)
        return self


def _more_than_0(key: str, given: float) -> None:
    if given <= 0:
        raise InvalidValueError(key, given, "a number above 0")
