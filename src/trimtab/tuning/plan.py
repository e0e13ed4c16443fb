"""What a search is given, and what it says of each trial on each rung."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.config.groups.tuning import Tuning
from trimtab.config.groups.workload import Workload
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.tuning.fidelity import Budget, Fidelity
from trimtab.tuning.hyperband import Bracket, Job, work_epochs
from trimtab.tuning.score import Failure, Score
from trimtab.tuning.space import Configuration
from trimtab.tuning.system.steering import Settings


def installed_memory_gib() -> float:
    """Return the memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)


@dataclass(frozen=True)
class Machine:
    """The machine with this `number`, from 1, of the `count` that share a search.

    `database` is the address of the PostgreSQL that has the journal; without, it is a file.
    """

    number: int = 1
    count: int = 1
    database: str | None = None

    @property
    def suffix(self) -> str:
        """What tells its files in the search's folder from those of others."""
        return "" if self.count == 1 else f"_{self.number}"


@dataclass(frozen=True)
class Plan:
    """What is searched and how: the rungs, what a level means, and how trials run.

    Trials share `cpus` and `memory_gib`. One takes as much as its settings say; where they name no
    cores it has its share of `workers`. It is trained on `machine`.
    """

    workload: Workload
    tuning: Tuning
    brackets: Sequence[Bracket]
    reduction: int
    synchronous: bool
    fidelity: Fidelity
    score: Score
    hardware: HardwareModel
    cpus: Sequence[int]
    workers: int = 1
    machine: Machine = Machine()
    memory_gib: float = field(default_factory=installed_memory_gib)


@dataclass(frozen=True)
class RungResult:
    """A trial on a rung: what it came to, and what that took.

    `training_s` and `training_j` are of all epochs since its first one; `wall_s` and `cpu_s` are
    those of this run's process, `start_up_s` the part of it before the first epoch. It ran from
    `began_s` to `ended_s` of the search. `steering` is what its steering reports.
    """

    trial: int
    job: Job
    budget: Budget
    configuration: Configuration
    result: float | Failure
    metrics: Mapping[str, float]
    training_s: float
    training_j: float
    energy_source: str
    wall_s: float
    cpu_s: float
    start_up_s: float | None
    began_s: float
    ended_s: float
    settings: Settings
    steering: Mapping[str, int]


def plan_in_words(brackets: list[Bracket], fidelity: Fidelity) -> list[str]:
    """Return what a search will do, a line a bracket, and what it costs."""
    lines = []
    for number, bracket in enumerate(brackets):
        rungs = [
            f"{rung.trials} to {fidelity.at(rung.level).epochs} epochs"
            + (
                f" on {fidelity.at(rung.level).data_fraction:.0%}"
                if fidelity.at(rung.level).data_fraction < 1
                else ""
            )
            for rung in bracket
        ]
        lines.append(f"bracket {number + 1}: {', '.join(rungs)}")
    lines.append(f"in all as much as {work_epochs(brackets, fidelity):g} epochs over all data")
    return lines
