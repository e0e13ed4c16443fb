"""One search: trials are started, steered, stopped at their budgets and told, until it is done.

Everything that another process needs to go on is in the study's journal and in the trials' folders:
finished trials are not run again, and what was running when a process ended is. So several may
search at once, each a worker with the CPUs of its own machine.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.machine import MeterReadings, machine_meters
from trimtab.tuning.companion import Alone, Companion
from trimtab.tuning.plan import Plan, RungResult
from trimtab.tuning.score import Failure
from trimtab.tuning.sharing.claims import Claims, FileLocks, Locks
from trimtab.tuning.sharing.work import Assigned, Work
from trimtab.tuning.study import Study
from trimtab.tuning.system.pool import Demand, Pool
from trimtab.tuning.system.spending import SharedMeters, Spent, rates_of
from trimtab.tuning.system.steering import MeasuredEpoch, Outlook, Settings, Steerer, Steering
from trimtab.tuning.trials.events import Ended, EpochEnd, Reason
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.running import kill_left_over
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.tuning.trials.waiting import next_events

__all__ = ["Plan", "RungResult", "Search"]
_LOOK_S = 0.5  # how often a worker looks whether others have ended what it waits for


@dataclass
class _Running(Assigned):
    """A trial whose process runs, since `began_s` of the search."""

    steering: Steering
    process: TrialProcess
    settings: Settings
    cpus: tuple[int, ...]
    spent: Spent
    began_s: float
    meters: MeterReadings  # where its epoch began
    epochs: int = 0  # of this process
    metrics: dict[str, float] = field(default_factory=dict)


class Search:
    """A search by `plan` with the suggestions of `study`, whose trials are steered by `steerer`.

    Trials keep their checkpoints in `folder`, where workers that share the study also have their
    claims, unless there are other `locks`. `on_result` hears of every trial on every rung that was
    trained here, and `companion` adds to their metrics. Earlier processes have searched for
    `began_s`.
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
        locks: Locks | None = None,
    ) -> None:
        self._companion = companion
        self._plan, self._steerer = plan, steerer
        self._folder, self._on_result = folder, on_result
        self._began_at = time.monotonic() - began_s
        self._steered: dict[int, Steering] = {}
        self._claims = Claims(locks or FileLocks(folder))
        self._work = Work(plan, study, self._claims)
        self._look_at = 0.0  # of time.monotonic
        self._pool = Pool(plan.cpus, plan.memory_gib)
        gpus = Gpus({**os.environ, **plan.workload.env})
        self._meters = SharedMeters(machine_meters(plan.hardware, gpus))
        self._running: list[_Running] = []

    def run(self) -> None:
        """Run until nobody has anything left to train; whatever ends this, no trial outlives it.

        Raises UserError where a program cannot be started, or lacks a metric of the score.
        """
        try:
            while self._start_what_can() or not self._work.is_done:
                if not self._running:  # others have all that can be trained now
                    time.sleep(_LOOK_S)
                processes = [one.process for one in self._running]
                patience_s = None if self._pool.is_used_up else _LOOK_S
                for process, event in next_events(processes, patience_s):
                    one = next(each for each in self._running if each.process is process)
                    if isinstance(event, EpochEnd):
                        self._epoch_ended(one, event)
                    else:
                        self._process_ended(one, event)
        finally:
            for one in self._running:
                one.process.kill()
            self._claims.close()
        self._work.close()

    def _start_what_can(self) -> bool:
        """Start trials, one after the other, while what they need is free; return if any runs."""
        while not self._pool.is_used_up and time.monotonic() >= self._look_at:
            assigned = self._work.take()
            if assigned is None:
                self._look_at = time.monotonic() + _LOOK_S
            elif not self._started(assigned):
                self._work.leave(assigned.trial)  # for a worker with more room
                self._look_at = time.monotonic() + _LOOK_S
        return bool(self._running)

    def _started(self, one: Assigned) -> bool:
        """Start a trial, if what it needs is free."""
        plan = self._plan
        complete = plan.tuning.completed(one.configuration)
        steering = self._steered.get(one.trial) or self._steerer(complete)
        self._steered[one.trial] = steering
        settings = steering.settings_for(self._outlook(one.trial, starts=True))
        demand = self._demand(settings)
        if not self._pool.fits(one.trial, demand):
            return False
        parameters = {
            name.partition(".")[2]: value
            for name, value in complete.items()
            if name.partition(".")[0] in (Kind.MODEL, Kind.TRAINING)
        }
        parameters["epochs"] = one.budget.epochs
        if plan.tuning.data_fraction is not None:
            parameters["data_fraction"] = one.budget.data_fraction
        cpus, folder = self._pool.take(one.trial, demand), self._folder / f"trial_{one.trial}"
        if one.was_begun:
            kill_left_over(folder)
        began_s, readings = self._now_s(), self._meters.read(len(self._running))
        process = TrialProcess.start(
            plan.workload,
            parameters,
            folder,
            self._system_settings(settings, cpus),
            resume=one.continues,
        )
        spent = Spent.read(process.folder) if process.first_epoch else Spent()
        # One that was trained to its budget, and not judged before an earlier process ended.
        metrics = dict(spent.metrics) if process.first_epoch >= one.budget.epochs else {}
        self._running.append(
            _Running(**vars(one), steering=steering, process=process, settings=settings, cpus=cpus,
                     spent=spent, began_s=began_s, meters=readings, metrics=metrics)
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
        one.steering.epoch_ended(
            MeasuredEpoch(
                epoch.wall_s,
                energy_j if energy_j == energy_j else None,
                rates_of(epoch),
                is_first=one.epochs == 0,
                work_epochs=one.budget.data_fraction,
                not_set=frozenset(epoch.not_set),
            )
        )
        one.epochs += 1
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
        self._look_at = 0.0
        if ended.reason == Reason.OUT_OF_MEMORY and one.steering.ran_out_of_memory():
            again = Assigned(
                one.job, one.trial, one.configuration, one.budget, continues=True, was_begun=False
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
        result: float | Failure
        beside = self._companion.metrics(one.trial)
        if ended.reason.is_failure or ended.reason == Reason.KILLED:
            result = Failure(f"{ended.reason}: {ended.message}")
        elif not one.metrics:
            result = Failure(
                "reported no epoch: it neither calls trimtab_trial nor has marks.epoch"
            )
        else:
            metrics["accuracy"] = self._metric_of(one)
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
                settings=one.steering.best(self._pool.machine),
                steering=one.steering.report,
            )
        )
        # Last: what is told is not run again.
        self._work.tell(one.trial, one.budget, result)

    def _metric_of(self, one: _Running) -> float:
        name = self._plan.tuning.metric
        if name not in one.metrics:
            reported = ", ".join(sorted(one.metrics))
            raise UserError(
                f"tuning.metric: the program reports no {name}; expected one of {reported}"
            )
        return one.metrics[name]

    def _outlook(self, trial: int, *, starts: bool = False) -> Outlook:
        # Of what waits each machine is going to have its part.
        waiting = len(self._running) + starts + -(-self._work.waiting // self._plan.machine.count)
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
