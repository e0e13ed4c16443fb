"""The input of a search, and its result of each trial on each rung."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.tuning.fidelity import Budget, Fidelity
from trimtab.tuning.hyperband import Bracket, RungJob, work_epochs
from trimtab.tuning.limits import NO_LIMITS, SearchLimits
from trimtab.tuning.scoring.score import Failure, Score
from trimtab.tuning.space import Configuration
from trimtab.tuning.system.machine import installed_memory_gib
from trimtab.tuning.system.system_tuner import MeasuredEpoch, Settings
from trimtab.tuning.trials.events import EpochEnd


@dataclass(frozen=True)
class WorkerNumber:
    """The machine with this `number`, from 1, of `count` machines that share a search.

    `database` is the address of the PostgreSQL server with the journal; without it, the journal is
    a file.
    """

    number: int = 1
    count: int = 1
    database: str | None = None

    @property
    def suffix(self) -> str:
        """The suffix of this machine's files in the search's folder."""
        return "" if self.count == 1 else f"_{self.number}"


@dataclass(frozen=True)
class Plan:
    """The plan of a search: the rungs, the budgets of levels, and how trials run.

    Trials share `cpus`, `memory_gib` and `gpus`, by default those of this machine. Each takes as
    much as its settings say. Without `cores`, it has an equal share, for `workers` trials, of the
    CPUs besides `companion_cpus`. Without `gpus`, it sees all GPUs, together with other trials. It
    is trained on `machine`. It is judged by `score`, and by the `others` of the objective.
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
    others: Sequence[Score] = ()
    workers: int = 1
    companion_cpus: int = 0
    machine: WorkerNumber = WorkerNumber()
    memory_gib: float = field(default_factory=installed_memory_gib)
    gpus: Sequence[str] | None = None
    limits: SearchLimits = NO_LIMITS

    @property
    def most(self) -> Budget:
        """The budget of a trial that is trained to the end."""
        return max(self.fidelity.at(rung.level) for one in self.brackets for rung in one)

    @property
    def cpus_of_trials(self) -> int:
        """The number of CPUs of trials while the side task works; on one CPU they alternate."""
        return max(1, len(self.cpus) - self.companion_cpus)

    @property
    def options(self) -> list[str]:
        """The names of the parameters that the program gets as options."""
        return options_of(self.workload.command, self.tuning)

    def parameters_of(self, configuration: Configuration, budget: Budget) -> dict[str, Any]:
        """Return the program's parameters for a configuration on a budget."""
        parameters = {
            name.partition(".")[2]: value
            for name, value in self.tuning.completed(configuration).items()
            if name.partition(".")[0] in (Kind.MODEL, Kind.TRAINING)
        }
        parameters["epochs"] = budget.epochs
        if self.tuning.data_fraction is not None:
            parameters["data_fraction"] = budget.data_fraction
        return parameters


@dataclass(frozen=True)
class RungResult:
    """A trial on a rung: its result and its cost.

    `result` is its score, `others` those of further objectives, higher is better.
    `training_s` and `training_j` are the cost of its model: of `epochs_trained` since the first
    one, fewer than the budget's where the program stopped early. `wall_s`, `cpu_s`, `energy_j` and
    `work_epochs` (over all data) are the cost of its processes on this rung, with starts, ends and
    lost work; they add up over rungs. `start_up_s` is the last process' time before its first
    epoch. The trial was trained and judged from `began_s` to `ended_s` of the search. Joules are
    NaN where unknown. `steering` is the report of its system tuner. `by_epoch` has the epochs of
    the last process, as in the table of trials. `not_set` says why a requested setting was in
    effect in no epoch. `inference_tuning` is the seconds and joules of tuning inference since the
    search's last result.
    """

    trial: int
    job: RungJob
    budget: Budget
    configuration: Configuration
    result: float | Failure
    metrics: Mapping[str, float]
    epochs_trained: int
    training_s: float
    training_j: float
    energy_source: str
    wall_s: float
    cpu_s: float
    energy_j: float
    work_epochs: float
    start_up_s: float | None
    began_s: float
    ended_s: float
    settings: Settings
    steering: Mapping[str, int]
    by_epoch: Sequence[Mapping[str, Any]] = ()
    not_set: Mapping[str, str] = field(default_factory=dict)
    others: Sequence[float] = ()
    inference_tuning: tuple[float, float] | None = None


def options_of(command: Sequence[str], tuning: Tuning) -> list[str]:
    """Return the names of the parameters that a command gets as options."""
    tuned = {*tuning.model, *tuning.training, "epochs"}
    if tuning.data_fraction is not None:
        tuned.add("data_fraction")
    words = " ".join(command)
    return sorted(name for name in tuned if f"{{{name}}}" not in words)


def format_plan(brackets: list[Bracket], fidelity: Fidelity) -> list[str]:
    """Return the plan of a search, a line for each bracket, and its cost."""
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


def row_of(
    epoch: EpochEnd, measured: MeasuredEpoch, settings: Settings, metric: str
) -> dict[str, Any]:
    """Return an epoch's entry in the column `by_epoch` of the table of trials."""
    return {
        "epoch": epoch.epoch,
        "wall_s": measured.wall_s,
        "energy_j": measured.energy_j,
        "accuracy": epoch.metrics.get(metric),
        "settings": {name: v for name, v in settings.items() if name not in measured.not_set},
        "rates": dict(measured.rates),
    }
