"""HyperBand: many configurations on small budgets, the better ones on larger ones.

Brackets and rungs follow Algorithm 1 of Li et al., "Hyperband: A Novel Bandit-Based Approach to
Hyperparameter Optimization" (JMLR 18, 2018), with the levels of `fidelity` as the resource. The
asynchronous variant is Algorithm 2 of Li et al., "A System for Massively Parallel Hyperparameter
Tuning" (MLSys 2020). It has the synchronous one's number of configurations. This module only
decides what to train next, given the scores so far.
"""

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from trimtab.tuning.fidelity import Budget, Fidelity
from trimtab.tuning.scoring.front import Scores, best_first


@dataclass(frozen=True)
class Rung:
    """The number of configurations of a bracket that are trained up to one level."""

    trials: int
    level: int


Bracket = tuple[Rung, ...]


@dataclass(frozen=True)
class RungJob:
    """A configuration to train up to the level of a rung; `trial` is None for a new one."""

    bracket: int
    rung: int
    trial: int | None = None


@dataclass(frozen=True)
class RecordedJob:
    """A job that another process started, with its score if it ended.

    The score is None for a failure; `others` are those of further objectives. `runs`: that process
    lives and has not ended the job.
    """

    job: RungJob
    ended: bool
    score: float | None = None
    runs: bool = False
    others: tuple[float, ...] = ()


def brackets_of(levels: int, reduction: int) -> list[Bracket]:
    """Return HyperBand's brackets for `levels`; each rung promotes one trial in `reduction`.

    The first bracket has the most configurations and the smallest budget. Raises ValueError for
    fewer than one level and for a reduction below 2.
    """
    if levels < 1 or reduction < 2:
        raise ValueError(f"{levels} levels, reduction {reduction}: expected at least 1 and 2")
    most_halvings = 0
    while reduction ** (most_halvings + 1) <= levels:
        most_halvings += 1
    return [
        _bracket(levels, reduction, halvings, most_halvings)
        for halvings in range(most_halvings, -1, -1)
    ]


def successive_halving(levels: int, reduction: int, trials: int) -> list[Bracket]:
    """Return one bracket that begins with `trials` configurations and ends at the last level.

    Raises ValueError for fewer than one.
    """
    if trials < 1:
        raise ValueError(f"halving from {trials} trials: expected at least 1")
    halvings = 0
    while reduction ** (halvings + 1) <= min(levels, trials):
        halvings += 1
    return [_rungs(levels, reduction, halvings, trials)]


def _bracket(levels: int, reduction: int, halvings: int, most_halvings: int) -> Bracket:
    trials = -(-(most_halvings + 1) * reduction**halvings // (halvings + 1))
    return _rungs(levels, reduction, halvings, trials)


def _rungs(levels: int, reduction: int, halvings: int, trials: int) -> Bracket:
    return tuple(
        Rung(trials // reduction**rung, levels // reduction ** (halvings - rung))
        for rung in range(halvings + 1)
    )


def work_epochs(brackets: Iterable[Bracket], fidelity: Fidelity) -> float:
    """Return the training that all brackets cost when no trial fails, in epochs over all data."""
    total = 0.0
    for bracket in brackets:
        before: Budget | None = None
        for rung in bracket:
            budget = fidelity.at(rung.level)
            total += rung.trials * budget.work_after(before)
            before = budget
    return total


def repeated_halving(fidelity: Fidelity, reduction: int, trials: int, work: float) -> list[Bracket]:
    """Return successive halving from `trials` as often as `work` allows, and at least once.

    `work` is in epochs over all data.
    """
    once = successive_halving(fidelity.levels, reduction, trials)
    return once * max(1, int(work / work_epochs(once, fidelity)))


def with_trials(brackets: Sequence[Bracket], reduction: int, trials: int) -> list[Bracket]:
    """Return `brackets`, repeated or cut such that they begin with `trials` configurations.

    Of a cut bracket, each rung promotes one trial in `reduction`, and at least one.
    """
    found, left = list[Bracket](), trials
    for bracket in itertools.cycle(brackets):
        if left <= 0:
            return found
        first = min(left, bracket[0].trials)
        found.append(
            tuple(
                Rung(min(rung.trials, max(1, first // reduction**number)), rung.level)
                for number, rung in enumerate(bracket)
            )
        )
        left -= first
    return found


@dataclass
class _Progress:
    """The state of one rung of a bracket."""

    scores: dict[int, Scores | None] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)

    def best(self, count: int) -> list[int]:
        """The `count` best trials without a failure; the earlier of equal ones."""
        good = [(trial, scores) for trial, scores in sorted(self.scores.items()) if scores]
        return [good[at][0] for at in best_first([scores for _, scores in good])[:count]]


class HyperBand:
    """Decides what to train next, by `next_job`, `start` and `report`; trials may end in any order.

    Higher scores are better; several are compared by `front.best_first`. `synchronous` rungs
    promote trials only when the whole rung has ended. Asynchronous ones promote a trial as soon as
    it is among the best that reached its rung. Trials that ran when another process ended are the
    first jobs again.
    """

    def __init__(
        self,
        brackets: Sequence[Bracket],
        reduction: int,
        *,
        synchronous: bool = True,
        past: Iterable[RecordedJob] = (),
    ) -> None:
        self.brackets, self.reduction, self.synchronous = brackets, reduction, synchronous
        self._progress = [[_Progress() for _ in bracket] for bracket in brackets]
        self._running: dict[int, RungJob] = {}
        self._no_more_new = False
        self._again: list[RungJob] = []
        for one in past:
            self._recall(one)

    @property
    def is_done(self) -> bool:
        """Whether nothing runs and nothing is left to start."""
        return not self._running and self.next_job() is None

    @property
    def waiting(self) -> int:
        """The number of jobs that could start now on an unlimited machine."""
        count = len(self._again)
        for number, bracket in enumerate(self.brackets):
            count += sum(len(self._going_on(number, rung)) for rung in range(len(bracket) - 1))
            count += self._new_ones(number)
        return count

    def next_job(self, without: Collection[int] = ()) -> RungJob | None:
        """Return the next job, or None where it depends on running trials.

        The same job is returned until it is started. Jobs of the trials in `without` are skipped.
        """
        for job in self._again:
            if job.trial not in without:
                return job
        for number, bracket in enumerate(self.brackets):
            for rung in range(len(bracket) - 2, -1, -1):
                for trial in self._going_on(number, rung):
                    if trial not in without:
                        return RungJob(number, rung + 1, trial)
            if self._new_ones(number):
                return RungJob(number, 0)
        return None

    def no_more_new(self) -> None:
        """Record that no new configuration is left: first rungs are complete as they are."""
        self._no_more_new = True

    def start(self, job: RungJob, trial: int) -> None:
        """Record that `job` has begun as the trial with this number."""
        if job in self._again:
            self._again.remove(job)
        self._progress[job.bracket][job.rung].started.add(trial)
        self._running[trial] = RungJob(job.bracket, job.rung, trial)

    def report(self, trial: int, score: float | None) -> None:
        """Record the score of a running trial that ended, or None for a failure."""
        job = self._running.pop(trial)
        self._progress[job.bracket][job.rung].scores[trial] = None if score is None else (score,)

    def _new_ones(self, number: int) -> int:
        """Return the number of new configurations that a bracket still has to start."""
        if self._no_more_new:
            return 0
        return max(0, self.brackets[number][0].trials - len(self._progress[number][0].started))

    def _going_on(self, number: int, rung: int) -> list[int]:
        """The trials of a rung to promote to the next one."""
        here, following = self._progress[number][rung : rung + 2]
        places = self.brackets[number][rung + 1].trials
        if not self.synchronous:
            places = len(here.scores) // self.reduction
        elif not self._is_complete(number, rung):
            return []
        return [trial for trial in here.best(places) if trial not in following.started]

    def _is_complete(self, number: int, rung: int) -> bool:
        here = self._progress[number][rung]
        if len(here.scores) < len(here.started):
            return False
        if rung == 0:
            return self._new_ones(number) == 0
        return self._is_complete(number, rung - 1) and not self._going_on(number, rung - 1)

    def _recall(self, past: RecordedJob) -> None:
        trial = past.job.trial
        if trial is None:
            raise ValueError(f"{past.job}: expected the number of its trial")
        progress = self._progress[past.job.bracket][past.job.rung]
        progress.started.add(trial)
        if past.ended:
            progress.scores[trial] = None if past.score is None else (past.score, *past.others)
        elif past.runs:
            self._running[trial] = past.job
        else:
            self._again.append(past.job)
