"""Jobs that arrive at a cluster: one YAML in `conf/trace/`."""

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from trimtab.config.fields import (
    InvalidValueError,
    about,
    check_name,
    check_number,
    check_one_of,
)

ARRIVALS = ("poisson", "bursts", "markovian", "file")
FORMATS = (
    "parquet",
    "swf",
    "google_2011",
    "google_2019",
    "alibaba_2018",
    "alibaba_gpu_2020",
    "alibaba_gpu_2023",
    "azure_functions_2019",
    "azure_functions_2021",
    "azure_llm",
    "philly_table",
    "philly_log",
)
DISTRIBUTIONS = (
    "deterministic",
    "exponential",
    "erlang",
    "uniform",
    "lognormal",
    "hyperexponential",
)
ENVIRONMENTS = ("original", "debloated")
PROGRAMS = ("", "word_popularity", "triangle_count")


@dataclass
class ArrivalsConfig:
    """When jobs arrive."""

    kind: str = field(
        default="poisson",
        metadata=about(
            "`poisson` (exponential times between arrivals), `bursts`, `markovian` (a marked "
            "Markovian arrival process) or `file` (a recorded trace)."
        ),
    )
    jobs: int = field(default=0, metadata=about("How many; 0 with `file`: all of it."))
    load: float = field(
        default=0.0,
        metadata=about(
            "`poisson`: share of the engine's or cluster's time that the jobs, undropped, ask "
            "for; 0: `rate_per_s` says."
        ),
    )
    rate_per_s: float = field(
        default=0.0, metadata=about("`poisson`: jobs of all classes together.", unit="1/s")
    )
    bursts: int = field(default=0, metadata=about("`bursts`: how many."))
    horizon_s: float = field(
        default=0.0, metadata=about("`bursts`: over how long they are spread.", unit="s")
    )
    transitions: list[list[float]] = field(
        default_factory=list,
        metadata=about("`markovian`: the matrix D0, row by row.", unit="1/s"),
    )
    marked: dict[str, list[list[float]]] = field(
        default_factory=dict,
        metadata=about("`markovian`: the matrix D of each class, row by row.", unit="1/s"),
    )
    format: str = field(
        default="",
        metadata=about(f"`file`: its format, one of {', '.join(FORMATS)}."),
    )
    files: dict[str, list[str]] = field(
        default_factory=dict,
        metadata=about(
            "`file`: where each table of the format is, seen from the project; the format's page "
            "names the tables."
        ),
    )
    options: dict[str, Any] = field(
        default_factory=dict,
        metadata=about("`file`: what the format leaves open, such as the size of a machine."),
    )

    def __post_init__(self) -> None:
        check_one_of("kind", self.kind, ARRIVALS)
        for name in ("jobs", "load", "rate_per_s", "bursts", "horizon_s"):
            check_number(name, getattr(self, name), minimum=0)
        if self.format:
            check_one_of("format", self.format, FORMATS)


@dataclass
class Work:
    """The service time of a job on the reference node."""

    distribution: str = field(
        default="exponential", metadata=about(f"One of {', '.join(DISTRIBUTIONS)}.")
    )
    mean_s: float = field(default=0.0, metadata=about("Mean service time.", unit="s"))
    scv: float = field(
        default=1.0,
        metadata=about("Squared coefficient of variation; `lognormal` and `hyperexponential`."),
    )
    phases: int = field(default=1, metadata=about("Phases; `erlang`."))
    minimum_s: float = field(default=0.0, metadata=about("Shortest; `uniform`.", unit="s"))
    maximum_s: float = field(default=0.0, metadata=about("Longest; `uniform`.", unit="s"))

    def __post_init__(self) -> None:
        check_one_of("distribution", self.distribution, DISTRIBUTIONS)
        for name in ("mean_s", "scv", "minimum_s"):
            check_number(name, getattr(self, name), minimum=0)
        check_number("phases", self.phases, minimum=1)
        check_number("maximum_s", self.maximum_s, minimum=self.minimum_s)


@dataclass
class RoundsConfig:
    """A job of map tasks, a shuffle and reduce tasks (Rocha's thesis, table 4.1)."""

    map_tasks: int = field(default=0, metadata=about("Map tasks; 0: not a job of stages."))
    reduce_tasks: int = field(default=0, metadata=about("Reduce tasks."))
    set_up_s: float = field(default=0.0, metadata=about("Mean time before the tasks.", unit="s"))
    map_task_s: float = field(default=0.0, metadata=about("Mean time of a map task.", unit="s"))
    shuffle_s: float = field(
        default=0.0, metadata=about("Mean time between map and reduce tasks.", unit="s")
    )
    reduce_task_s: float = field(
        default=0.0, metadata=about("Mean time of a reduce task.", unit="s")
    )
    distribution: str = field(
        default="exponential",
        metadata=about("Of each of these times: deterministic, exponential, erlang or lognormal."),
    )
    scv: float = field(
        default=1.0, metadata=about("Squared coefficient of variation; `lognormal`.")
    )
    phases: int = field(default=1, metadata=about("Phases; `erlang`."))
    size_scv: float = field(
        default=0.0,
        metadata=about(
            "Squared coefficient of variation of the jobs' sizes (lognormal, mean 1), by which "
            "all times of a job's tasks are multiplied."
        ),
    )

    def __post_init__(self) -> None:
        check_one_of("distribution", self.distribution, DISTRIBUTIONS)
        for name in ("map_tasks", "reduce_tasks", "set_up_s", "map_task_s", "shuffle_s",
                     "reduce_task_s", "scv", "size_scv"):  # fmt: skip
            check_number(name, getattr(self, name), minimum=0)
        check_number("phases", self.phases, minimum=1)


@dataclass
class JobClassConfig:
    """Jobs of one kind: what they ask for, how long they take, how important they are."""

    priority: int = field(default=0, metadata=about("Higher is more important."))
    share: float = field(default=1.0, metadata=about("Of the jobs, relative to other classes."))
    cores: float = field(default=1.0, metadata=about("Cores of a job."))
    gpus: float = field(default=0.0, metadata=about("GPUs of a job."))
    memory_gib: float = field(default=0.0, metadata=about("Memory of a job.", unit="GiB"))
    work: Work = field(default_factory=Work)
    stages: RoundsConfig = field(default_factory=RoundsConfig)
    workload: str = field(
        default="",
        metadata=about(
            "A workload of this experiment: service time, energy, memory, image size and cold "
            "start are then what `profile` and `debloat` measured."
        ),
    )
    environment: str = field(
        default="original",
        metadata=about("With `workload`: `original`, or `debloated` as its target was."),
    )
    image_gb: float = field(default=0.0, metadata=about("Size of the image.", unit="GB"))
    cold_start_s: float = field(
        default=0.0, metadata=about("From the image's arrival to the first work.", unit="s")
    )
    state_gb: float = field(
        default=0.0, metadata=about("What a stateful migration has to copy.", unit="GB")
    )
    program: str = field(
        default="",
        metadata=about(
            "What jobs do on a real Spark: word_popularity or triangle_count. The times of their "
            "stages are measured first, and those of `stages` left out."
        ),
    )
    input: str = field(
        default="",
        metadata=about("With `program`: posts in XML, or a list of edges; empty: made for it."),
    )
    input_mb: float = field(
        default=2.0, metadata=about("With word_popularity: size of the posts.", unit="MB")
    )
    accuracy_loss: list[list[float]] = field(
        default_factory=list,
        metadata=about("Pairs of drop ratio and loss of accuracy in per cent; linear between."),
    )

    def __post_init__(self) -> None:
        check_number("share", self.share, above=0)
        check_number("cores", self.cores, above=0)
        for name in ("gpus", "memory_gib", "image_gb", "cold_start_s", "state_gb"):
            check_number(name, getattr(self, name), minimum=0)
        check_one_of("environment", self.environment, ENVIRONMENTS)
        check_one_of("program", self.program, PROGRAMS)
        check_number("input_mb", self.input_mb, above=0)
        for position, pair in enumerate(self.accuracy_loss):
            if len(pair) != 2 or not 0 <= pair[0] <= 1:
                expected = "a drop ratio, 0 to 1, and a loss in per cent"
                raise InvalidValueError(f"accuracy_loss[{position}]", list(pair), expected)


@dataclass
class TraceConfig:
    """Arrivals and classes of jobs, drawn from one seed or read from a file."""

    name: str = field(default=MISSING, metadata=about("Name of the trace: the stem of its file."))
    seed: int = field(default=1, metadata=about("Seed of everything that is drawn."))
    arrivals: ArrivalsConfig = field(default_factory=ArrivalsConfig)
    classes: dict[str, JobClassConfig] = field(
        default_factory=dict,
        metadata=about("The classes of jobs by name. With `file`: those of the file, if empty."),
    )
    description: str = field(
        default="", metadata=about("What the trace is, for the report.", report_only=True)
    )

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_number("seed", self.seed, minimum=0)
        if not self.classes and self.arrivals.kind != "file":
            raise InvalidValueError("classes", {}, "at least one class of jobs")
        self._check_arrivals(self.arrivals)

    def _check_arrivals(self, given: ArrivalsConfig) -> None:
        # Here and not in ArrivalsConfig, whose defaults alone are no arrivals yet.
        if given.kind == "file":
            check_one_of("arrivals.format", given.format, FORMATS)
            if not given.files:
                raise InvalidValueError("arrivals.files", {}, "at least one table with its files")
            return
        check_number("arrivals.jobs", given.jobs, minimum=1)
        if given.kind == "poisson" and (given.load > 0) == (given.rate_per_s > 0):
            raise InvalidValueError("arrivals.load", given.load, "either load or rate_per_s")
        if given.kind == "bursts":
            check_number("arrivals.bursts", given.bursts, minimum=1)
            check_number("arrivals.horizon_s", given.horizon_s, above=0)
        if given.kind == "markovian":
            if not given.transitions:
                raise InvalidValueError("arrivals.transitions", [], "the matrix D0")
            if set(given.marked) != set(self.classes):
                expected = f"one matrix for each class, {', '.join(self.classes)}"
                raise InvalidValueError("arrivals.marked", sorted(given.marked), expected)
