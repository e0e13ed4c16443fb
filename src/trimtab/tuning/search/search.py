"""One search: trials are started, steered, stopped at their budgets and scored.

The study's journal and the trials' folders hold all that another process needs to resume. Finished
trials do not run again; interrupted ones do. Several workers may search at once, each with the CPUs
of its own machine.
"""

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from trimtab.config.groups.tuning import Kind
from trimtab.errors import TrimtabError, UserError
from trimtab.profiling.meters.base import EnergySource
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.machine import machine_meters
from trimtab.tuning.plan import Plan, RungResult, row_of
from trimtab.tuning.results import row_of_result
from trimtab.tuning.scoring.score import Failure, Metrics
from trimtab.tuning.search.clock import KEPT_EVERY_S, SearchClock
from trimtab.tuning.search.cpu_lease import CpuLease
from trimtab.tuning.search.future import Future
from trimtab.tuning.search.program_faults import ProgramFaults
from trimtab.tuning.search.running_trial import RunningTrial, result_of, why_failed
from trimtab.tuning.search.side_task import NoSideTask, SideTask
from trimtab.tuning.sharing.claims import Claims, FileLocks, Locks
from trimtab.tuning.sharing.trial_queue import TrialLease, TrialQueue
from trimtab.tuning.study import Study
from trimtab.tuning.system.pool import Pool, ResourceDemand
from trimtab.tuning.system.spending import SharedMeters, Spent, Taken, rates_of
from trimtab.tuning.system.system_tuner import (
    MeasuredEpoch,
    ResourceView,
    Settings,
    SystemTuner,
    SystemTunerFactory,
)
from trimtab.tuning.trials.events import Answered, EndReason, EpochEnd, Event, TrialEnded
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.running import kill_left_over
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.tuning.trials.waiting import Awaited, next_events

_LOOK_S = 0.5  # between checks for other machines' results


class Search:
    """A search by `plan` with the suggestions of `study`; `steerer` steers its trials.

    `folder` holds the trials' checkpoints, and the claims of machines that share the study, unless
    `locks` are given. `on_result` is called for each rung of a trial trained here, once the journal
    has its score and row. `companion` adds metrics; while it has work, it gets the next free CPUs.
    Earlier processes have searched for at least `began_s`.

    A trial is judged when its last epoch has ended: its checkpoint exists, and its program's exit
    cannot change the result. Its CPUs are released during the exit; its memory and GPUs are not.
    `on_ended` is then called with the result and the program's full cost, which its row then has,
    too. A program that reports by marks is judged at its own end.
    """

    def __init__(
        self,
        plan: Plan,
        study: Study,
        steerer: SystemTunerFactory,
        folder: Path,
        on_result: Callable[[RungResult], None] = lambda result: None,
        companion: SideTask = NoSideTask(),  # noqa: B008 - stateless
        began_s: float = 0.0,
        on_ended: Callable[[RungResult], None] = lambda result: None,
        locks: Locks | None = None,
    ) -> None:
        self._companion, self._on_ended = companion, on_ended
        self._plan, self._steerer = plan, steerer
        self._folder, self._on_result = folder, on_result
        self._clock = SearchClock(folder / f"clock{plan.machine.suffix}.json", began_s)
        self._steered: dict[int, SystemTuner] = {}
        self._claims = Claims(locks or FileLocks(folder))
        self._work = TrialQueue(plan, study, self._claims)
        self._look_at = 0.0  # by time.monotonic
        gpus = Gpus({**os.environ, **plan.workload.env})
        of_machine = gpus.uuids if plan.gpus is None else plan.gpus
        self._pool = Pool(plan.cpus, plan.memory_gib, of_machine)
        self._lending = CpuLease(companion, self._pool)
        self._meters = SharedMeters(machine_meters(plan.hardware, gpus))
        self._running: list[RunningTrial] = []
        self._ending: list[RunningTrial] = []  # their programs were told to stop
        self._awaiting: dict[Future[Metrics], tuple[RunningTrial, TrialEnded]] = {}
        self._lost: dict[int, tuple[float, Taken]] = {}  # start and cost of earlier processes
        self._study = study
        self._was_seen = any(one.scores for one in study.trials())  # a report of the program
        self._faults = ProgramFaults(plan.options, any_score=self._was_seen)
        if plan.limits.energy_j is not None and self._meters.meters.source is EnergySource.UNKNOWN:
            raise UserError("--energy: this machine's joules are unknown; expected --time")

    def run(self) -> None:
        """Run until no machine has anything left to train, or a limit is reached.

        No trial outlives this call; the next one resumes trials that ran at the limit. Raises
        UserError where a program cannot be started, or lacks a metric of the score, and as
        ProgramFaults.
        """
        try:
            while not (limit := self._limit()) and (
                self._start_what_can() or not self._work.is_done
            ):
                self._clock.keep()
                self._claims.check()
                self._take_in()
            while limit and self._ending:
                self._end_running()
                self._take_in()
        finally:
            for one in (*self._running, *self._ending):
                one.process.kill()
            for answer in self._awaiting:
                answer.close()
            self._lending.close()
            with suppress(OSError, TrimtabError):  # the first error is reported
                self._clock.keep()
                self._claims.close()
        if self._work.is_done:
            self._work.close()
        else:
            self._plan.limits.on_reached(limit)

    def _limit(self) -> str:
        """Return the reached limit, in words; empty for none."""
        running_j = sum(one.rung_j for one in self._running)
        return self._plan.limits.reached(
            self._clock.now_s(), running_j, self._study.trials, self._plan.most
        )

    def _end_running(self) -> None:
        """Kill the running trials without judging them."""
        for one in self._running:
            one.process.kill()
        self._running.clear()

    def _take_in(self) -> None:
        """Wait for events here, or briefly for those of other machines, and handle them."""
        programs = {one.process: one for one in (*self._running, *self._ending)}
        awaited: list[Awaited[Event | Answered]]
        awaited = [*programs, *self._awaiting, *self._lending.work]
        if not awaited:  # other machines train all that can be trained now
            time.sleep(_LOOK_S)
        timeout_s = KEPT_EVERY_S if self._plan.machine.count == 1 else _LOOK_S
        left_s = (self._plan.limits.wall_s or math.inf) - self._clock.now_s()
        if left_s > 0:  # after it, programs still end
            timeout_s = min(timeout_s, left_s)
        for of, event in next_events(awaited, timeout_s):
            if isinstance(of, TrialProcess):
                self._happened(programs[of], event)
            elif of in self._lending.work:
                self._look_at = 0.0
                self._lending.end()
            elif isinstance(of, Future):
                self._judge(*self._awaiting.pop(of), of.take())

    def _happened(self, one: RunningTrial, event: Event | Answered) -> None:
        if isinstance(event, EpochEnd):
            self._epoch_ended(one, event)
        elif isinstance(event, TrialEnded):
            self._process_ended(one, event)

    def _start_what_can(self) -> bool:
        """Start trials while their resources are free; return if any is still active."""
        while (
            not (self._lending.is_due() or self._pool.is_used_up)
            and self._looks()
            and (self._was_seen or not self._running)  # a mistake shows in the first trial
        ):
            assigned = self._work.take()
            if assigned is None:
                self._look_at = time.monotonic() + _LOOK_S
            elif not self._started(assigned):
                self._work.leave(assigned.trial)  # for a machine with more free resources
                self._look_at = time.monotonic() + _LOOK_S
        return bool(self._running or self._ending or self._awaiting)

    def _looks(self) -> bool:
        return time.monotonic() >= self._look_at

    def _started(self, one: TrialLease, settings: Settings | None = None) -> bool:
        """Start a trial, if its resources are free."""
        plan = self._plan
        complete = plan.tuning.completed(one.configuration)
        steering = self._steered.get(one.trial) or self._steerer(complete)
        self._steered[one.trial] = steering
        if settings is None:
            settings = steering.settings_for(self._outlook(one.trial, starts=True))
        demand = self._demand(settings)
        if not self._pool.fits(one.trial, demand):
            return False
        cpus, folder = self._pool.take(one.trial, demand), self._folder / f"trial_{one.trial}"
        if one.was_begun:
            kill_left_over(folder)
        began_s, before = self._lost.pop(one.trial, (self._clock.now_s(), Taken()))
        readings = self._meters.read(len(self._running))
        process = TrialProcess.start(
            plan.workload,
            plan.parameters_of(one.configuration, one.budget),
            folder,
            self._system_settings(one.trial, settings, cpus),
            resume=one.continues,
        )
        # A trial with nothing left to train is judged by its last epoch. An earlier process of ours
        # was killed after its training, or its program stopped early.
        spent = Spent.read(process.folder) if process.first_epoch else Spent()
        self._running.append(
            RunningTrial(
                **vars(one), steering=steering,
                process=process, settings=settings, cpus=cpus, spent=spent, began_s=began_s,
                before=before, began_meters=readings, meters=readings, metrics=dict(spent.metrics),
                not_set=process.change.not_set,
            )
        )  # fmt: skip
        self._companion.started(one.trial, complete)
        return True

    def _epoch_ended(self, one: RunningTrial, epoch: EpochEnd) -> None:
        energy_j = one.epoch_ended(epoch, self._meters, self._meters.read(len(self._running)))
        # A program that waits for no answer is not asked for settings derived from its cores.
        asked = epoch.not_set if epoch.waits else epoch.not_set.keys() & one.settings.keys()
        measured = MeasuredEpoch(
            epoch.wall_s,
            energy_j if energy_j == energy_j else None,
            rates_of(epoch),
            epoch.cpu_s,
            is_first=one.epochs == 1,
            work_epochs=one.budget.data_fraction,
            not_set=frozenset(asked),
        )
        self._was_seen = True
        one.steering.epoch_ended(measured)
        one.by_epoch.append(row_of(epoch, measured, one.settings, self._plan.tuning.metric))
        if epoch.epoch + 1 < one.budget.epochs:
            self._goes_on(one, waits=epoch.waits)
        elif epoch.waits:
            one.process.stop()
            ended = one.process.end_so_far()
            one.has_taken(ended, self._meters, self._meters.read(len(self._running)))
            self._running.remove(one)
            self._ending.append(one)
            self._pool.give_back_cpus(one.trial)
            self._look_at = 0.0
            self._trained(one, ended)

    def _goes_on(self, one: RunningTrial, *, waits: bool) -> None:
        """Give the next epoch the tuner's settings; unless it `waits`, it has already begun."""
        settings = one.steering.settings_for(self._outlook(one.trial))
        if not waits and settings == one.settings:
            return
        other_gpus = settings.get("gpus") != one.settings.get("gpus")
        one.settings = settings
        one.cpus = self._pool.take(one.trial, self._demand(settings))
        self._look_at = 0.0  # another trial may fit now
        if other_gpus and waits and one.process.has_checkpoint:
            one.starts_again = True
            one.process.stop()
        else:
            one.process.answer(self._system_settings(one.trial, settings, one.cpus))

    def _process_ended(self, one: RunningTrial, ended: TrialEnded) -> None:
        one.has_taken(ended, self._meters, self._meters.read(len(self._running)))
        one.has_ended, self._look_at = True, 0.0
        one.steering.ended()
        self._pool.give_back(one.trial)
        if one in self._ending:
            self._ending.remove(one)
            return self._tell_end(one)
        self._running.remove(one)
        no_memory = ended.reason == EndReason.OUT_OF_MEMORY and one.steering.ran_out_of_memory()
        if no_memory or (one.starts_again and ended.reason == EndReason.STOPPED):
            again = TrialLease(
                one.job, one.trial, one.configuration, one.budget, continues=True, was_begun=False
            )
            self._lost[one.trial] = one.began_s, one.taken
            if not self._started(again, None if no_memory else one.settings):
                self._work.leave(one.trial)  # resumes when more is free, here or elsewhere
            return
        self._trained(one, ended)

    def _trained(self, one: RunningTrial, ended: TrialEnded) -> None:
        """Judge a trial once the side task has its metrics; other trials do not wait."""
        if why_failed(one, ended):
            self._companion.dropped(one.trial)
            self._judge(one, ended, {})
        elif self._companion.is_known(one.trial):
            self._judge(one, ended, self._companion.metrics(one.trial))
        else:
            answer = Future(partial(self._companion.metrics, one.trial))
            self._awaiting[answer] = one, ended

    def _judge(self, one: RunningTrial, ended: TrialEnded, beside: Metrics) -> None:
        best = one.steering.best(self._pool.machine)
        source = self._meters.meters.source
        now_s, taken = self._clock.now_s(), self._companion.taken()
        one.result = result_of(self._plan, one, ended, beside, source, now_s, best, taken)
        if isinstance(one.result.result, Failure):
            self._faults.failed(ended, one.result.result.reason, one.process.last_lines())
        else:
            self._faults.succeeded()
        # A recorded result is not run again.
        self._work.tell(one.trial, one.budget, one.result.result, row_of_result(one.result))
        self._on_result(one.result)
        self._look_at = 0.0
        self._tell_end(one)

    def _tell_end(self, one: RunningTrial) -> None:
        """Report a judged trial whose program has ended, and release it to other workers."""
        if one.result is not None and one.has_ended:
            result = replace(one.result, **vars(one.taken))
            self._work.amend(one.trial, one.budget, row_of_result(result))
            self._work.leave(one.trial)
            self._on_ended(result)

    def _outlook(self, trial: int, *, starts: bool = False) -> ResourceView:
        # Each machine gets an equal part of the waiting trials.
        waiting = len(self._running) + starts + -(-self._work.waiting // self._plan.machine.count)
        return ResourceView(max(1, waiting), self._pool.room(trial), self._pool.machine, starts)

    def _demand(self, settings: Settings) -> ResourceDemand:
        return ResourceDemand.of(settings, max(1, self._plan.cpus_of_trials // self._plan.workers))

    def _system_settings(
        self, trial: int, settings: Settings, cpus: tuple[int, ...]
    ) -> SystemSettings:
        """Return the settings of a trial with these CPUs.

        It is not bound to CPUs if it has all of them, unless a frequency is set for them.
        """
        given = {f"{Kind.SYSTEM}.{name}": value for name, value in settings.items()}
        if len(cpus) < len(self._plan.cpus):
            given.setdefault(f"{Kind.SYSTEM}.cores", len(cpus))
        found = SystemSettings.of(given, cpus, self._pool.gpus_of(trial))
        has_frequency = found.frequency_mhz is not None
        return replace(found, cpus=cpus) if has_frequency and found.cpus is None else found
