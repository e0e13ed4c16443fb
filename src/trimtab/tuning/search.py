"""One search: trials are started, steered, stopped at their budgets and told, until it is done.

Everything that a later process needs to go on is in the study's journal and in the trials' folders:
finished trials are not run again, and what was running when this process ended is.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trimtab.config.groups.tuning import Kind
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.machine import MeterReadings, machine_meters
from trimtab.tuning.companion import Alone, Companion
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.hyperband import HyperBand, Job, Past
from trimtab.tuning.plan import Plan, RungResult, row_of
from trimtab.tuning.score import Failure, metric_of
from trimtab.tuning.space import Configuration
from trimtab.tuning.study import Study
from trimtab.tuning.system.pool import Demand, Pool
from trimtab.tuning.system.spending import SharedMeters, Spent, rates_of
from trimtab.tuning.system.steering import MeasuredEpoch, Outlook, Settings, Steerer, Steering
from trimtab.tuning.trials.events import Ended, EpochEnd, Reason
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.tuning.trials.waiting import next_events

__all__ = ["Plan", "RungResult", "Search"]
_JOBS = "jobs"  # attribute of a trial in the journal: its rungs


@dataclass
class _Next:
    """A trial that is to be started on a rung; `continues` from its checkpoint."""

    job: Job
    trial: int
    configuration: Configuration
    budget: Budget
    steering: Steering
    continues: bool


@dataclass
class _Running(_Next):
    """A trial whose process runs, since `began_s` of the search."""

    process: TrialProcess
    settings: Settings
    cpus: tuple[int, ...]
    spent: Spent
    began_s: float
    meters: MeterReadings  # where its epoch began
    not_set: Mapping[str, str]  # in none of its epochs
    metrics: dict[str, float] = field(default_factory=dict)
    by_epoch: list[dict[str, Any]] = field(default_factory=list)  # of this process


class Search:
    """A search by `plan` with the suggestions of `study`, whose trials are steered by `steerer`.

    Trials keep their checkpoints in `folder`. `on_result` hears of every trial on every rung, and
    `companion` adds to their metrics. Earlier processes have searched for `began_s`.
    """

    def __init__(
        self,
        plan: Plan,
        study: Study,
        steerer: Steerer,
        folder: Path,
        on_result: Callable[[RungResult], None] = lambda result: None,
        companion: Companion = Alone(),  # noqa: B008 - it has no state
        began_s: float = 0.0,
    ) -> None:
        self._companion = companion
        self._plan, self._study, self._steerer = plan, study, steerer
        self._folder, self._on_result = folder, on_result
        self._began_at = time.monotonic() - began_s
        self._steered: dict[int, Steering] = {}
        self._known = {told.number: told for told in study.trials()}
        self._scheduler = HyperBand(
            plan.brackets, plan.reduction, synchronous=plan.synchronous, past=self._past()
        )
        self._pool = Pool(plan.cpus, plan.memory_gib)
        gpus = Gpus({**os.environ, **plan.workload.env})
        self._meters = SharedMeters(machine_meters(plan.hardware, gpus))
        self._running: list[_Running] = []
        self._next: _Next | None = None

    def run(self) -> None:
        """Run to the end; whatever ends it early, no trial outlives it.

        Raises UserError where a program cannot be started, or lacks a metric of the score.
        """
        try:
            while self._start_what_can() or self._running:
                for process, event in next_events([one.process for one in self._running]):
                    one = next(each for each in self._running if each.process is process)
                    if isinstance(event, EpochEnd):
                        self._epoch_ended(one, event)
                    else:
                        self._process_ended(one, event)
        finally:
            for one in self._running:
                one.process.kill()
        for told in self._study.trials():
            if told.is_running and told.scores:
                self._study.close(told.number)

    def _start_what_can(self) -> bool:
        """Start trials, one after the other, while what they need is free; return if any was."""
        started = False
        while True:
            if self._next is None and not self._pool.is_used_up:
                job = self._scheduler.next_job()
                self._next = None if job is None else self._prepared(job)
            if self._next is None or not self._started(self._next):
                return started
            self._next, started = None, True

    def _prepared(self, job: Job) -> _Next:
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
        steering = self._steered.get(trial) or self._steerer(plan.tuning.completed(configuration))
        self._steered[trial] = steering
        budget = plan.fidelity.at(plan.brackets[job.bracket][job.rung].level)
        # What an earlier process had not finished goes on from its last epoch, too.
        continues = told.budget is None or told.budget.epochs < budget.epochs
        return _Next(job, trial, configuration, budget, steering, continues)

    def _started(self, one: _Next) -> bool:
        """Start a trial, if what it needs is free."""
        plan = self._plan
        settings = one.steering.settings_for(self._outlook(one.trial, starts=True))
        demand = self._demand(settings)
        if not self._pool.fits(one.trial, demand):
            return False
        complete = plan.tuning.completed(one.configuration)
        parameters = {
            name.partition(".")[2]: value
            for name, value in complete.items()
            if name.partition(".")[0] in (Kind.MODEL, Kind.TRAINING)
        }
        parameters["epochs"] = one.budget.epochs
        if plan.tuning.data_fraction is not None:
            parameters["data_fraction"] = one.budget.data_fraction
        cpus = self._pool.take(one.trial, demand)
        began_s, readings = self._now_s(), self._meters.read(len(self._running))
        process = TrialProcess.start(
            plan.workload,
            parameters,
            self._folder / f"trial_{one.trial}",
            self._system_settings(settings, cpus),
            resume=one.continues,
        )
        spent = Spent.read(process.folder) if process.first_epoch else Spent()
        # One that was trained to its budget, and not judged before an earlier process ended.
        metrics = dict(spent.metrics) if process.first_epoch >= one.budget.epochs else {}
        self._running.append(
            _Running(**vars(one), process=process, settings=settings, cpus=cpus, spent=spent,
                     began_s=began_s, meters=readings, not_set=process.change.not_set,
                     metrics=metrics)
        )  # fmt: skip
        self._companion.started(one.trial, complete)
        return True

    def _epoch_ended(self, one: _Running, epoch: EpochEnd) -> None:
        now = self._meters.read(len(self._running))
        energy_j = self._meters.energy_j(one.meters, now, epoch, len(one.cpus))
        one.meters = now
        one.spent = one.spent.and_also(epoch.wall_s, energy_j, epoch.metrics)
        one.spent.write(one.process.folder)
        one.metrics = dict(epoch.metrics)
        one.not_set = {name: why for name, why in one.not_set.items() if name in epoch.not_set}
        measured = MeasuredEpoch(
            epoch.wall_s,
            energy_j if energy_j == energy_j else None,
            rates_of(epoch),
            is_first=not one.by_epoch,
            work_epochs=one.budget.data_fraction,
            not_set=frozenset(epoch.not_set),
        )
        one.steering.epoch_ended(measured)
        one.by_epoch.append(row_of(epoch, measured, one.settings, self._plan.tuning.metric))
        if epoch.epoch + 1 >= one.budget.epochs:
            if epoch.waits:
                one.process.stop()
        elif epoch.waits:
            one.settings = one.steering.settings_for(self._outlook(one.trial))
            one.cpus = self._pool.take(one.trial, self._demand(one.settings))
            one.process.answer(self._system_settings(one.settings, one.cpus))

    def _process_ended(self, one: _Running, ended: Ended) -> None:
        self._meters.read(len(self._running))
        self._running.remove(one)
        self._pool.give_back(one.trial)
        if ended.reason == Reason.OUT_OF_MEMORY and one.steering.ran_out_of_memory():
            again = _Next(
                one.job, one.trial, one.configuration, one.budget, one.steering, continues=True
            )
            if self._started(again):
                return
        self._ended(one, ended)

    def _ended(self, one: _Running, ended: Ended) -> None:
        metrics = {
            **one.metrics,
            "training_s": one.spent.training_s,
            "training_j": one.spent.training_j,
        }
        best = one.steering.best(self._pool.machine)
        result: float | Failure
        beside = self._companion.metrics(one.trial)
        if ended.reason.is_failure or ended.reason == Reason.KILLED:
            result = Failure(f"{ended.reason}: {ended.message}")
        elif not one.metrics:
            result = Failure(
                "reported no epoch: expected trimtab_trial.epoch_end with a metric, or lines that"
                " marks.epoch (--epoch-mark) finds, with a named group for one"
            )
        else:
            metrics["accuracy"] = metric_of(one.metrics, self._plan.tuning.metric)
            metrics |= {} if isinstance(beside, Failure) else beside
            result = beside if isinstance(beside, Failure) else self._plan.score.of(metrics)
        self._on_result(
            RungResult(
                trial=one.trial,
                job=one.job,
                budget=one.budget,
                configuration=one.configuration,
                result=result,
                metrics=metrics,
                training_s=one.spent.training_s,
                training_j=one.spent.training_j,
                energy_source=self._meters.meters.source,
                wall_s=ended.wall_s,
                cpu_s=ended.cpu_s,
                start_up_s=ended.start_up_s,
                began_s=one.began_s,
                ended_s=self._now_s(),
                settings={name: best[name] for name in best if name not in one.not_set},
                not_set={name: why for name, why in one.not_set.items() if name in best},
                steering=one.steering.report,
                by_epoch=one.by_epoch,
            )
        )
        # Last: what is told is not run again.
        self._study.tell(one.trial, one.budget, result)
        self._scheduler.report(one.trial, None if isinstance(result, Failure) else result)

    def _outlook(self, trial: int, *, starts: bool = False) -> Outlook:
        waiting = len(self._running) + (self._next is not None) + self._scheduler.waiting
        return Outlook(max(1, waiting), self._pool.room(trial), self._pool.machine, starts)

    def _demand(self, settings: Settings) -> Demand:
        return Demand.of(settings, max(1, len(self._plan.cpus) // self._plan.workers))

    def _system_settings(self, settings: Settings, cpus: tuple[int, ...]) -> SystemSettings:
        """Return the settings of a trial that has these CPUs; with all of them, it is not bound."""
        given = {f"{Kind.SYSTEM}.{name}": value for name, value in settings.items()}
        if len(cpus) < len(self._plan.cpus):
            given.setdefault(f"{Kind.SYSTEM}.cores", len(cpus))
        return SystemSettings.of(given, cpus)

    def _now_s(self) -> float:
        return time.monotonic() - self._began_at

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
