"""One search: trials are started, steered, stopped at their budgets and told, until it is done.

Everything that a later process needs to go on is in the study's journal and in the trials' folders:
finished trials are not run again, and what was running when this process ended is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.files import parse_json, read_limited, write_json
from trimtab.profiling.meters.power_model import HardwareModel, modelled_energy_j
from trimtab.tuning.companion import Alone, Companion
from trimtab.tuning.fidelity import Budget, Fidelity
from trimtab.tuning.hyperband import Bracket, HyperBand, Job, Past
from trimtab.tuning.score import Failure, Score
from trimtab.tuning.space import Configuration
from trimtab.tuning.steering import MeasuredEpoch, Settings, Steerer, Steering
from trimtab.tuning.study import Study
from trimtab.tuning.trials.events import Ended, EpochEnd, Reason
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.tuning.trials.waiting import next_events

_JOBS = "jobs"  # attribute of a trial in the journal: its rungs
_MOST_BYTES = 1000
_NOT_RATES = ("counters_running_share", "cpu_s")


@dataclass(frozen=True)
class Plan:
    """What is searched and how: the rungs, what a level means, and how trials run."""

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


@dataclass(frozen=True)
class RungResult:
    """A trial on a rung: what it came to, and what that took.

    `training_s` and `training_j` are of all epochs since its first one; `wall_s` is that of this
    run's process, `start_up_s` the part of it before the first epoch.
    """

    trial: int
    job: Job
    budget: Budget
    configuration: Configuration
    result: float | Failure
    metrics: Mapping[str, float]
    training_s: float
    training_j: float
    wall_s: float
    start_up_s: float | None
    settings: Settings


@dataclass
class _Running:
    """A trial whose process runs."""

    job: Job
    trial: int
    configuration: Configuration
    budget: Budget
    process: TrialProcess
    steering: Steering
    cpus: Sequence[int]
    spent: "_Spent"
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Spent:
    """What a trial's epochs have taken, kept in its folder beside what its checkpoint is."""

    training_s: float = 0.0
    training_j: float = 0.0

    @classmethod
    def read(cls, folder: Path) -> "_Spent":
        path = folder / "spent.json"
        if not path.is_file():
            return cls()
        found = parse_json(read_limited(path, _MOST_BYTES))
        return cls(float(found["training_s"]), float(found["training_j"]))

    def write(self, folder: Path) -> None:
        write_json(folder / "spent.json", asdict(self))


class Search:
    """A search by `plan` with the suggestions of `study`, whose trials are steered by `steerer`.

    Trials keep their checkpoints in `folder`. `on_result` hears of every trial on every rung, and
    `companion` adds to their metrics.
    """

    def __init__(
        self,
        plan: Plan,
        study: Study,
        steerer: Steerer,
        folder: Path,
        on_result: Callable[[RungResult], None] = lambda result: None,
        companion: Companion = Alone(),  # noqa: B008 - it has no state
    ) -> None:
        self._companion = companion
        self._plan, self._study, self._steerer = plan, study, steerer
        self._folder, self._on_result = folder, on_result
        self._steered: dict[int, Steering] = {}
        self._known = {told.number: told for told in study.trials()}
        self._scheduler = HyperBand(
            plan.brackets, plan.reduction, synchronous=plan.synchronous, past=self._past()
        )
        share = max(1, len(plan.cpus) // plan.workers)
        self._places = [
            list(plan.cpus[at * share : (at + 1) * share]) for at in range(plan.workers)
        ]

    def run(self) -> None:
        """Run to the end; whatever ends it early, no trial outlives it.

        Raises UserError where a program cannot be started, or lacks a metric of the score.
        """
        running: list[_Running] = []
        try:
            while self._start_what_can(running) or running:
                for process, event in next_events([one.process for one in running]):
                    one = next(each for each in running if each.process is process)
                    if isinstance(event, EpochEnd):
                        self._epoch_ended(one, event)
                    else:
                        running.remove(one)
                        self._ended(one, event)
        finally:
            for one in running:
                one.process.kill()
        for told in self._study.trials():
            if told.is_running and told.scores:
                self._study.close(told.number)

    def _start_what_can(self, running: list[_Running]) -> bool:
        """Start jobs while there is a place; return whether any was started."""
        started = False
        while len(running) < self._plan.workers:
            job = self._scheduler.next_job()
            if job is None:
                break
            taken = [one.cpus for one in running]
            running.append(
                self._started(job, next(place for place in self._places if place not in taken))
            )
            started = True
        return started

    def _started(self, job: Job, cpus: Sequence[int]) -> _Running:
        plan = self._plan
        if job.trial is None:
            trial, configuration = self._study.ask({_JOBS: [[job.bracket, job.rung]]})
        else:
            trial = job.trial
            configuration = dict(self._known[trial].configuration)
        told = next(one for one in self._study.trials() if one.number == trial)
        self._known[trial] = told
        jobs = told.attributes.get(_JOBS, [])
        if [job.bracket, job.rung] not in jobs:
            self._study.note(trial, _JOBS, [*jobs, [job.bracket, job.rung]])
        self._scheduler.start(job, trial)
        complete = plan.tuning.completed(configuration)
        steering = self._steered.get(trial) or self._steerer(complete)
        self._steered[trial] = steering
        budget = plan.fidelity.at(plan.brackets[job.bracket][job.rung].level)
        # What an earlier process had not finished goes on from its last epoch, too.
        continues = told.budget is None or told.budget.epochs < budget.epochs
        parameters = {
            name.partition(".")[2]: value
            for name, value in complete.items()
            if name.partition(".")[0] in (Kind.MODEL, Kind.TRAINING)
        }
        parameters["epochs"] = budget.epochs
        if plan.tuning.data_fraction is not None:
            parameters["data_fraction"] = budget.data_fraction
        process = TrialProcess.start(
            plan.workload,
            parameters,
            self._folder / f"trial_{trial}",
            _system_settings(steering.settings, cpus),
            resume=continues,
        )
        spent = _Spent.read(process.folder) if process.first_epoch else _Spent()
        self._companion.started(trial, complete)
        return _Running(
            job,
            trial,
            configuration,
            budget,
            process,
            steering,
            cpus,
            spent,
        )

    def _epoch_ended(self, one: _Running, epoch: EpochEnd) -> None:
        cores = len(_system_settings(one.steering.settings, one.cpus).cpus or one.cpus)
        energy_j = modelled_energy_j(
            self._plan.hardware,
            wall_s=epoch.wall_s,
            cpu_s=epoch.cpu_s,
            resident_byte_s=0.0,
            cores_usable=cores,
        )
        one.spent = _Spent(one.spent.training_s + epoch.wall_s, one.spent.training_j + energy_j)
        one.spent.write(one.process.folder)
        one.metrics = dict(epoch.metrics)
        one.steering.epoch_ended(
            MeasuredEpoch(epoch.wall_s, _rates(epoch), one.budget.data_fraction)
        )
        if epoch.epoch + 1 >= one.budget.epochs:
            if epoch.waits:
                one.process.stop()
        elif epoch.waits:
            one.process.answer(_system_settings(one.steering.settings, one.cpus))

    def _ended(self, one: _Running, ended: Ended) -> None:
        metrics = {
            **one.metrics,
            **asdict(one.spent),
        }
        result: float | Failure
        beside = self._companion.metrics(one.trial)
        if ended.reason.is_failure or ended.reason == Reason.KILLED:
            result = Failure(f"{ended.reason}: {ended.message}")
        elif not one.metrics:
            result = Failure(
                "reported no epoch: it neither calls trimtab_trial nor has marks.epoch"
            )
        else:
            metrics["accuracy"] = metrics.get(self._plan.tuning.metric, float("nan"))
            metrics |= {} if isinstance(beside, Failure) else beside
            result = beside if isinstance(beside, Failure) else self._plan.score.of(metrics)
        self._study.tell(one.trial, one.budget, result)
        self._scheduler.report(one.trial, None if isinstance(result, Failure) else result)
        self._on_result(
            RungResult(
                one.trial,
                one.job,
                one.budget,
                one.configuration,
                result,
                metrics,
                one.spent.training_s,
                one.spent.training_j,
                ended.wall_s,
                ended.start_up_s,
                one.steering.settings,
            )
        )

    def _past(self) -> list[Past]:
        """Return what earlier processes started, by what the journal says became of it."""
        past = []
        for told in self._known.values():
            for bracket, rung in told.attributes.get(_JOBS, []):
                budget = self._plan.fidelity.at(self._plan.brackets[bracket][rung].level)
                failed = told.failure is not None and budget not in told.scores
                past.append(
                    Past(
                        Job(bracket, rung, told.number),
                        ended=failed or budget in told.scores,
                        score=told.scores.get(budget),
                    )
                )
        return past


def _rates(epoch: EpochEnd) -> dict[str, float]:
    """Return the counters of an epoch per second of the processor, those that were counted."""
    cpu_s = max(epoch.cpu_s, 1e-3)
    return {
        name: value / cpu_s
        for name, value in epoch.counters.items()
        if name not in _NOT_RATES and value == value and value >= 0
    }


def _system_settings(settings: Settings, cpus: Sequence[int]) -> SystemSettings:
    return SystemSettings.of({f"{Kind.SYSTEM}.{name}": v for name, v in settings.items()}, cpus)
