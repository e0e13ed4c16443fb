"""The remaining trials of a search, for the workers that share its journal.

No process keeps state: the next job follows from the journal and the claims. Workers look one at a
time. So several workers search as a single one would, on any machines, and the next one restarts
the trials of a killed one.
"""

from dataclasses import dataclass

from trimtab.tuning.fidelity import Budget
from trimtab.tuning.hyperband import HyperBand, RecordedJob, RungJob
from trimtab.tuning.journal import Row, TrialRecord
from trimtab.tuning.plan import Plan
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.sharing.claims import Claims
from trimtab.tuning.space import Configuration
from trimtab.tuning.study import NothingLeftError, Study

_JOBS = "jobs"  # attribute of a trial in the journal: its rungs


@dataclass
class TrialLease:
    """A trial that this worker has claimed, to train it on a rung.

    It `continues` from its checkpoint, if it has one. `was_begun`: an ended process has begun this
    rung.
    """

    job: RungJob
    trial: int
    configuration: Configuration
    budget: Budget
    continues: bool
    was_begun: bool


class TrialQueue:
    """The rungs of the search by `plan`, with the suggestions of `study`.

    Raises UserError, as all methods do, where the journal is damaged or stays locked.
    """

    def __init__(self, plan: Plan, study: Study, claims: Claims) -> None:
        self._plan, self._study, self._claims = plan, study, claims
        self._no_more_new = False  # no new configurations: the grid is exhausted
        with study.lock():
            self._look()

    @property
    def is_done(self) -> bool:
        """Whether, at this worker's last look, nothing was left and no worker active."""
        return self._schedule.is_done

    @property
    def waiting(self) -> int:
        """The number of rungs of trials that could have started then."""
        return self._schedule.waiting

    def take(self) -> TrialLease | None:
        """Claim the next trial to train; None where there is none now."""
        with self._study.lock():
            trials, ending = self._look(), set[int]()
            while (job := self._schedule.next_job(ending)) is not None and job.trial is not None:
                if self._claims.take(job.trial):
                    break
                ending.add(job.trial)  # it has its result, and its program is still ending
            if job is None:
                return None
            if job.trial is None:
                try:
                    number, configuration = self._study.ask({_JOBS: [[job.bracket, job.rung]]})
                except NothingLeftError:
                    self._no_more_new = True
                    return self.take()  # promote present trials
                if not self._claims.take(number):  # its holder trains it
                    return None
                before, was_begun = None, False
            else:
                number, told = job.trial, trials[job.trial]
                configuration, before = dict(told.configuration), told.budget
                was_begun = self._is_noted(told, job)
                if not was_begun:
                    jobs = [*told.attributes.get(_JOBS, []), [job.bracket, job.rung]]
                    self._study.note(number, _JOBS, jobs)
        self._schedule.start(job, number)
        budget = self._budget(job)
        # An interrupted trial also continues from its last epoch.
        continues = before is None or before.epochs < budget.epochs
        return TrialLease(job, number, configuration, budget, continues, was_begun)

    def leave(self, trial: int) -> None:
        """Release a claimed trial that does not run: any worker may continue it."""
        with self._study.lock():
            self._claims.give_back(trial)
            self._look()

    def tell(
        self, trial: int, budget: Budget, result: float | Failure, row: Row | None = None
    ) -> None:
        """Record the result and row of a claimed trial: it is not run again on this rung."""
        with self._study.lock():
            self._study.tell(trial, budget, result, row)
            self._look()

    def amend(self, trial: int, budget: Budget, row: Row) -> None:
        """Replace the row of a claimed trial whose program has ended after `tell`."""
        self._study.amend(trial, budget, row)

    def close(self) -> None:
        """Close all trials with a score; only where `is_done`.

        Trials of other workers are left to them: their programs may still be ending.
        """
        with self._study.lock():
            for told in self._study.trials():
                if told.is_running and told.scores and not self._claims.is_taken(told.number):
                    self._study.close(told.number)

    def _look(self) -> list[TrialRecord]:
        """Read the journal and the claims."""
        trials = self._study.trials()
        plan = self._plan
        self._schedule = HyperBand(
            plan.brackets,
            plan.reduction,
            synchronous=plan.synchronous,
            past=[past for told in trials for past in self._past(told)],
        )
        if self._no_more_new:
            self._schedule.no_more_new()
        return trials

    def _past(self, told: TrialRecord) -> list[RecordedJob]:
        """Return the started jobs of a trial, with their results in the journal."""
        found = []
        for bracket, rung in told.attributes.get(_JOBS, []):
            job = RungJob(bracket, rung, told.number)
            budget = self._budget(job)
            failed = told.failure is not None and budget not in told.scores
            ended = failed or budget in told.scores
            runs = not ended and self._claims.is_taken(told.number)
            score, *others = told.all_scores(budget) if budget in told.scores else (None,)
            found.append(RecordedJob(job, ended, score, runs, tuple(others)))
        return found

    def _is_noted(self, told: TrialRecord, job: RungJob) -> bool:
        return [job.bracket, job.rung] in told.attributes.get(_JOBS, [])

    def _budget(self, job: RungJob) -> Budget:
        return self._plan.fidelity.at(self._plan.brackets[job.bracket][job.rung].level)
