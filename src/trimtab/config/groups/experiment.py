"""What is run and reported together: one YAML in `conf/experiment/`."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import (
    InvalidValueError,
    about,
    check_name,
    check_not_blank,
    check_number,
    check_one_of,
)

ENGINES = ("spark", "slurm")


@dataclass
class Schedule:
    """The cells that are scheduled: clusters x traces x policies."""

    clusters: list[str] = field(
        default_factory=list, metadata=about("Names of files in `conf/cluster/`.")
    )
    traces: list[str] = field(
        default_factory=list, metadata=about("Names of files in `conf/trace/`.")
    )
    policies: list[str] = field(
        default_factory=list, metadata=about("Names of files in `conf/policy/`.")
    )
    objectives: list[str] = field(
        default_factory=list,
        metadata=about("Names of files in `conf/objective/`: the deflator searches for each."),
    )
    baseline: str = field(
        default="",
        metadata=about("The policy that others are compared with: the first, if empty."),
    )
    replications: int = field(
        default=1, metadata=about("Simulations of each cell, with seeds of their own.")
    )
    formula: bool = field(
        default=False, metadata=about("Whether response times are calculated too.")
    )
    real: str = field(
        default="",
        metadata=about(
            f"Where the trace is run for real too: {' or '.join(ENGINES)}; empty: nowhere."
        ),
    )
    real_scale: float = field(
        default=1.0,
        metadata=about("Seconds of a real run on Slurm for each second of the trace."),
    )

    def __post_init__(self) -> None:
        check_number("replications", self.replications, minimum=1)
        check_number("real_scale", self.real_scale, above=0)
        if self.real:
            check_one_of("real", self.real, ENGINES)
        cells = {key: getattr(self, key) for key in ("clusters", "traces", "policies")}
        if any(cells.values()):
            for key, names in cells.items():
                _check_names(key, names)
        elif self.objectives:
            raise InvalidValueError("clusters", [], "a cluster, a trace and a policy")
        if self.baseline and self.baseline not in self.policies:
            raise InvalidValueError("baseline", self.baseline, "one of the policies")

    @property
    def baseline_policy(self) -> str:
        """The policy that others are compared with."""
        return self.baseline or self.policies[0]


@dataclass
class Experiment:
    """The cells of an experiment: targets x hardware, and what is scheduled.

    A target is a slim environment that keeps what all its workloads use.
    """

    name: str = field(
        default=MISSING, metadata=about("Name of the experiment: the stem of its file.")
    )
    hardware: list[str] = field(
        default_factory=list,
        metadata=about("Names of files in `conf/hardware/` that the targets run on."),
    )
    targets: dict[str, list[str]] = field(
        default_factory=dict,
        metadata=about(
            "For each target, the workloads (names of files in `conf/workload/`) whose union it "
            "keeps. `${target:NAME}` is one target NAME for the workload NAME."
        ),
    )
    schedule: Schedule = field(default_factory=Schedule)
    title: str = field(default="", metadata=about("Heading of the report.", report_only=True))

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if not self.targets and not self.schedule.policies:
            expected = "at least one target with its workloads, or a schedule"
            raise InvalidValueError("targets", {}, expected)
        if self.targets:
            _check_names("hardware", self.hardware)
        for target, workloads in self.targets.items():
            check_name(f"targets.{target}", target)
            _check_names(f"targets.{target}", workloads)

    @property
    def workloads(self) -> list[str]:
        """The workloads of all targets, each once, in the order of their first mention."""
        return list(dict.fromkeys(name for names in self.targets.values() for name in names))


def _check_names(key: str, names: list[str]) -> None:
    if not names:
        raise InvalidValueError(key, [], "at least one name")
    for name in names:
        check_not_blank(key, name)
        if names.count(name) > 1:
            raise InvalidValueError(key, name, "every name once")
