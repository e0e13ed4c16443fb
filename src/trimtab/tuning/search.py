"""One search: trials are started, steered, stopped at their budgets and told, until it is done.

Everything that a later process needs to go on is in the study's journal and in the trials' folders:
finished trials are not run again, and what was running when this process ended is.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from trimtab.config.groups.tuning import Kind
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.machine import machine_meters
from trimtab.tuning.answer import Answer
from trimtab.tuning.companion import Alone, Companion
from trimtab.tuning.hyperband import HyperBand, Job, Past
from trimtab.tuning.plan import Plan, RungResult, row_of
from trimtab.tuning.running_trial import NextTrial, RunningTrial, result_of, why_failed
from trimtab.tuning.score import Failure, Metrics
from trimtab.tuning.search_clock import KEPT_EVERY_S, SearchClock
from trimtab.tuning.study import NothingLeftError, Study
from trimtab.tuning.system.pool import Demand, Pool
from trimtab.tuning.system.spending import SharedMeters, Spent, Taken, rates_of
from trimtab.tuning.system.steering import MeasuredEpoch, Outlook, Settings, Steerer, Steering
from trimtab.tuning.trials.events import Ended, EpochEnd, Reason
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.tuning.trials.waiting import next_events

__all__ = ["Plan", "RungResult", "Search"]
_JOBS = "jobs"  # attribute of a trial in the journal: its rungs


class Search:
    """A search by `plan` with the suggestions of `study`, whose trials are steered by `steerer`.

    Trials keep their checkpoints in `folder`. `on_result` hears of every trial on every rung when
    it is judged, and `companion` adds to their metrics. Earlier processes have searched for
    `began_s` at least.

    A trial is judged when its last epoch has ended: its checkpoint is there, and nothing that its
    program does on its way out changes the result. While that ends its CPUs are others'; its memory
    and GPUs are not. `on_ended` hears of the same result with what all of the program took. One
    that reports by marks goes on to its own end, and is judged then.
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
        on_ended: Callable[[RungResult], None] = lambda result: None,
    ) -> None:
        self._companion, self._on_ended = companion, on_ended
        self._plan, self._study, self._steerer = plan, study, steerer
        self._folder, self._on_result = folder, on_result
        self._clock = SearchClock(folder / "clock.json", began_s)
        self._steered: dict[int, Steering] = {}
        self._known = {told.number: told for told in study.trials()}
        self._scheduler = HyperBand(
            plan.brackets, plan.reduction, synchronous=plan.synchronous, past=self._past()
        )
        gpus = Gpus({**os.environ, **plan.workload.env})
        of_machine = gpus.uuids if plan.gpus is None else plan.gpus
        self._pool = Pool(plan.cpus, plan.memory_gib, of_machine)
        self._meters = SharedMeters(machine_meters(plan.hardware, gpus))
        self._running: list[RunningTrial] = []
        self._ending: list[RunningTrial] = []  # whose programs were told to stop
        self._awaiting: dict[Answer, RunningTrial] = {}
        self._lost: dict[int, tuple[float, Taken]] = {}  # began, taken: by earlier processes
        self._next: NextTrial | None = None

    def run(self) -> None:
        """Run to the end; whatever ends it early, no trial outlives it.

        Raises UserError where a program cannot be started, or lacks a metric of the score.
        """
        try:
            while self._start_what_can() or self._running or self._ending or self._awaiting:
                self._clock.keep()
                self._take_in(KEPT_EVERY_S)
        finally:
            for one in (*self._running, *self._ending):
                one.process.kill()
            for answer in self._awaiting:
                answer.close()
            self._clock.keep()
        for told in self._study.trials():
            if told.is_running and told.scores:
                self._study.close(told.number)

    def _take_in(self, timeout_s: float) -> None:
        """Wait until something happens, and take in what it is."""
        programs = {one.process: one for one in (*self._running, *self._ending)}
        awaited: list[TrialProcess | Answer] = [*programs, *self._awaiting]
        for of, event in next_events(awaited, timeout_s):
            if isinstance(event, EpochEnd):
                assert isinstance(of, TrialProcess)
                self._epoch_ended(programs[of], event)
            elif isinstance(of, Answer):
                self._judge(self._awaiting.pop(of), event, of.take())
            else:
                self._process_ended(programs[of], event)

    def _start_what_can(self) -> bool:
        """Start trials, one after the other, while what they need is free; return if any was."""
        started = False
        while True:
            if self._next is None and not self._pool.is_used_up:
                self._next = self._what_is_next()
            if self._next is None or not self._started(self._next):
                return started
            self._next, started = None, True

    def _what_is_next(self) -> NextTrial | None:
        while (job := self._scheduler.next_job()) is not None:
            try:
                return self._prepared(job)
            except NothingLeftError:  # what was found goes on
                self._scheduler.no_more_new()
        return None

    def _prepared(self, job: Job) -> NextTrial:
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
        return NextTrial(job, trial, configuration, budget, steering, continues)

    def _started(self, one: NextTrial, settings: Settings | None = None) -> bool:
        """Start a trial, if what it needs is free and no earlier program of it is still ending."""
        plan = self._plan
        if any(other.trial == one.trial for other in self._ending):
            return False
        if settings is None:
            settings = one.steering.settings_for(self._outlook(one.trial, starts=True))
        demand = self._demand(settings)
        if not self._pool.fits(one.trial, demand):
            return False
        cpus = self._pool.take(one.trial, demand)
        began_s, before = self._lost.pop(one.trial, (self._clock.now_s(), Taken()))
        readings = self._meters.read(len(self._running))
        process = TrialProcess.start(
            plan.workload,
            plan.parameters_of(one.configuration, one.budget),
            self._folder / f"trial_{one.trial}",
            self._system_settings(one.trial, settings, cpus),
            resume=one.continues,
        )
        # One that has nothing left to train is judged by its last epoch: it was trained to its
        # budget when an earlier process of ours was killed, or has stopped by itself before.
        spent = Spent.read(process.folder) if process.first_epoch else Spent()
        self._running.append(
            RunningTrial(
                one.job, one.trial, one.configuration, one.budget, one.steering, one.continues,
                process=process, settings=settings, cpus=cpus, spent=spent, began_s=began_s,
                before=before, began_meters=readings, meters=readings, metrics=dict(spent.metrics),
                not_set=process.change.not_set,
            )
        )  # fmt: skip
        self._companion.started(one.trial, plan.tuning.completed(one.configuration))
        return True

    def _epoch_ended(self, one: RunningTrial, epoch: EpochEnd) -> None:
        energy_j = one.epoch_ended(epoch, self._meters, self._meters.read(len(self._running)))
        # Of a program that is told nothing, what follows from its cores is no wish of ours.
        asked = epoch.not_set if epoch.waits else epoch.not_set.keys() & one.settings.keys()
        measured = MeasuredEpoch(
            epoch.wall_s,
            energy_j if energy_j == energy_j else None,
            rates_of(epoch),
            is_first=one.epochs == 1,
            work_epochs=one.budget.data_fraction,
            not_set=frozenset(asked),
        )
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
            self._trained(one, ended)

    def _goes_on(self, one: RunningTrial, *, waits: bool) -> None:
        """Have the next epoch run under what the steering wants; it has begun if none `waits`."""
        settings = one.steering.settings_for(self._outlook(one.trial))
        if not waits and settings == one.settings:
            return
        other_gpus = settings.get("gpus") != one.settings.get("gpus")
        one.settings = settings
        one.cpus = self._pool.take(one.trial, self._demand(settings))
        if other_gpus and waits and one.process.has_checkpoint:
            one.starts_again = True
            one.process.stop()
        else:
            one.process.answer(self._system_settings(one.trial, settings, one.cpus))

    def _process_ended(self, one: RunningTrial, ended: Ended) -> None:
        one.has_taken(ended, self._meters, self._meters.read(len(self._running)))
        one.has_ended = True
        self._pool.give_back(one.trial)
        if one in self._ending:
            self._ending.remove(one)
            return self._tell_end(one)
        self._running.remove(one)
        no_memory = ended.reason == Reason.OUT_OF_MEMORY and one.steering.ran_out_of_memory()
        if no_memory or (one.starts_again and ended.reason == Reason.STOPPED):
            again = NextTrial(
                one.job, one.trial, one.configuration, one.budget, one.steering, continues=True
            )
            self._lost[one.trial] = one.began_s, one.taken
            if self._started(again, None if no_memory else one.settings):
                return
        self._trained(one, ended)

    def _trained(self, one: RunningTrial, ended: Ended) -> None:
        """Have a trial judged, when its companion knows what it has to; nobody else waits."""
        if why_failed(one, ended):
            self._companion.dropped(one.trial)
            self._judge(one, ended, {})
        elif self._companion.is_known(one.trial):
            self._judge(one, ended, self._companion.metrics(one.trial))
        else:
            answer = Answer(ended, partial(self._companion.metrics, one.trial))
            self._awaiting[answer] = one

    def _judge(self, one: RunningTrial, ended: Ended, beside: Metrics) -> None:
        best = one.steering.best(self._pool.machine)
        source = self._meters.meters.source
        one.result = result_of(self._plan, one, ended, beside, source, self._clock.now_s(), best)
        self._on_result(one.result)
        # Last: what is told is not run again.
        score = one.result.result
        self._study.tell(one.trial, one.budget, score)
        self._scheduler.report(one.trial, None if isinstance(score, Failure) else score)
        self._tell_end(one)

    def _tell_end(self, one: RunningTrial) -> None:
        """Tell of a trial that was judged, and whose program has ended."""
        if one.result is not None and one.has_ended:
            self._on_ended(replace(one.result, **vars(one.taken)))

    def _outlook(self, trial: int, *, starts: bool = False) -> Outlook:
        waiting = len(self._running) + (self._next is not None) + self._scheduler.waiting
        return Outlook(max(1, waiting), self._pool.room(trial), self._pool.machine, starts)

    def _demand(self, settings: Settings) -> Demand:
        return Demand.of(settings, max(1, len(self._plan.cpus) // self._plan.workers))

    def _system_settings(
        self, trial: int, settings: Settings, cpus: tuple[int, ...]
    ) -> SystemSettings:
        """Return the settings of a trial that has these CPUs.

        With all of them it is not bound, unless they get a frequency, which is that of cores.
        """
        given = {f"{Kind.SYSTEM}.{name}": value for name, value in settings.items()}
        if len(cpus) < len(self._plan.cpus):
            given.setdefault(f"{Kind.SYSTEM}.cores", len(cpus))
        found = SystemSettings.of(given, cpus, self._pool.gpus_of(trial))
        has_frequency = found.frequency_mhz is not None
        return replace(found, cpus=cpus) if has_frequency and found.cpus is None else found

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
