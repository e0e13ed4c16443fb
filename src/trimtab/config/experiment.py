"""What is run and reported together: one YAML in `conf/experiment/`."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import InvalidValueError, about, check_name, check_not_blank


@dataclass
class Experiment:
    """The cells of an experiment: targets x hardware.

    A target is a slim environment that keeps what all its workloads use.
    """

    name: str = field(
        default=MISSING, metadata=about("Name of the experiment: the stem of its file.")
    )
    hardware: list[str] = field(
        default=MISSING, metadata=about("Names of files in `conf/hardware/`.")
    )
    targets: dict[str, list[str]] = field(
        default=MISSING,
        metadata=about(
            "For each target, the workloads (names of files in `conf/workload/`) whose union it "
            "keeps. `${target:NAME}` is one target NAME for the workload NAME."
        ),
    )
    title: str = field(default="", metadata=about("Heading of the report.", report_only=True))

    def __post_init__(self) -> None:
        check_name("name", self.name)
        _check_names("hardware", self.hardware)
        if not self.targets:
            raise InvalidValueError("targets", {}, "at least one target with its workloads")
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
