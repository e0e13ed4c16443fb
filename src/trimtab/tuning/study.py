"""A search: configurations suggested from a seed, and their results, in a journal."""

import math
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import TrialState, create_trial

from trimtab.config.groups.tuning import Kind
from trimtab.errors import TrimtabError, UserError
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.journal import JournalStorage, Row, SearchJournal, TrialRecord
from trimtab.tuning.samplers import (
    ENOUGH,
    GRID,
    check_algorithm,
    draws_at_random,
    learns,
    sampler,
    seed_of,
)
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.space import Configuration, SearchSpace, suggested

_TRIES = 100  # suggestions before allowed configurations are listed
_MOST_LISTED = 10_000
_NO_NOTES: Mapping[str, Any] = {}


class NothingLeftError(TrimtabError):
    """All configurations of a grid have been suggested."""


class Study:
    """One search in the journal at `place`, identified by its `name`.

    `kinds` are the searched kinds of parameters; others keep their defaults. `algorithm` is one of
    `samplers`. Equal seeds and scores give equal suggestions, in one process or several, killed or
    not: a suggestion depends on the trial's number and the journal, and is made under its lock. The
    first trials have the values of `first`, by full name, as far as their kinds are searched. Each
    trial has a score for each name in `scores`: a row has the `others` beside the first. The
    algorithm also learns from `earlier` trials, of another study of the same space. Raises
    UserError for an unsuitable algorithm, for a file that is no journal, and where the study of
    that name has another space, algorithm or seed. All methods raise it where another process keeps
    the journal locked.
    """

    def __init__(
        self,
        place: Path | JournalStorage,
        name: str,
        space: SearchSpace,
        kinds: Collection[Kind],
        algorithm: str,
        seed: int,
        first: Sequence[Configuration] = (),
        scores: Sequence[str] = ("score",),
        earlier: Sequence[TrialRecord] = (),
    ) -> None:
        check_algorithm(algorithm)
        self._earlier = list(earlier)
        self._first = [self._of_searched(space, kinds, one) for one in first]
        self.space, self.algorithm, self.seed = space.of(kinds), algorithm, seed
        if algorithm == GRID and not self.space.is_countable:
            free = [one for one in self.space.names if not space.parameters[one].is_countable]
            raise UserError(
                f"algorithm grid: {', '.join(free)} cannot be listed; give `choices`, or `whole`"
            )
        self._journal, self._scores = SearchJournal(place, name, scores), scores
        with self._journal.lock():
            self._journal.check_made_with(
                {
                    "parameters": {name: asdict(one) for name, one in space.parameters.items()},
                    "forbidden": space.tuning.forbidden,
                    "kinds": [str(kind) for kind in self.space.kinds],
                    "algorithm": algorithm,
                    "seed": seed,
                }
            )

    @staticmethod
    def _of_searched(
        space: SearchSpace, kinds: Collection[Kind], given: Configuration
    ) -> dict[str, Any]:
        """Return the values of a given configuration whose kinds are searched."""
        space.check(given)
        searched = set(map(str, kinds))
        return {name: value for name, value in given.items() if name.partition(".")[0] in searched}

    def lock(self) -> AbstractContextManager[None]:
        """Hold the journal's lock: no other process can ask, tell or note."""
        return self._journal.lock()

    def ask(self, notes: Mapping[str, Any] = _NO_NOTES) -> tuple[int, Configuration]:
        """Return a new trial: its number, from 0, and its configuration.

        `notes` are recorded as by `note`, atomically with the trial. Raises NothingLeftError where
        a grid has no more.
        """
        return self.ask_within(None, notes)

    def ask_within(
        self, fixed: Mapping[str, Any] | None, notes: Mapping[str, Any] = _NO_NOTES
    ) -> tuple[int, Configuration]:
        """Return a new trial as `ask`, with the values of `fixed`, by full name.

        They may be of kinds that are not searched; inactive parameters are left out. Raises
        UserError for an invalid value, and where no allowed configuration is left.
        """
        with self._journal.lock():
            trials = self._journal.trials()
            if fixed is None:
                fixed = self._first[len(trials)] if len(trials) < len(self._first) else {}
            self.space.check(fixed)
            configuration = self._suggestion(trials, fixed)
            self._journal.add(configuration, self.space.distributions, notes)
        return len(trials), configuration

    def tell(
        self, number: int, budget: Budget, result: float | Failure, row: Row | None = None
    ) -> None:
        """Record a running trial's result on a budget: its score, higher is better, or a failure.

        A score that is not finite is a failure. A failed trial runs no more. A second result for a
        budget replaces the first. The `row` is recorded atomically with the score. Raises UserError
        for a trial that is not running.
        """
        if not isinstance(result, Failure) and not math.isfinite(result):
            result = Failure(f"the score is {result}")
        with self._journal.lock():
            told = self._journal.running(number)
            if isinstance(result, Failure):
                self._journal.fail(number, result, budget, row)
                if row is None:  # otherwise `amend` closes it
                    self._journal.close_failed(number)
            else:
                rows = told.rows if row is None else {**told.rows, budget: row}
                self._journal.add_scores(number, {**told.scores, budget: float(result)}, rows)

    def amend(self, number: int, budget: Budget, row: Row) -> None:
        """Replace the row of a score or a failure on a budget.

        This closes a failed trial. A closed trial stays unchanged: another machine has taken it
        over.
        """
        with self._journal.lock(), suppress(UpdateFinishedTrialError):
            told = self._journal.trials()[number]
            if budget in told.scores:
                self._journal.add_scores(number, told.scores, {**told.rows, budget: row})
            elif told.failure is not None:
                self._journal.fail(number, told.failure, budget, row)
                self._journal.close_failed(number)

    def close(self, number: int) -> None:
        """Record that a running trial with a score gets no further results.

        Suggestions do not depend on it. Raises UserError for a trial that is not running or has no
        score.
        """
        with self._journal.lock():
            told = self._journal.running(number)
            if told.budget is None:
                raise UserError(f"{self._journal}: trial {number} was told no score")
            self._journal.complete(number, told.all_scores(told.budget))

    def note(self, number: int, key: str, value: Any) -> None:
        """Record an attribute of a running trial, such as its rung, for resuming it.

        `value` is any JSON value. Raises UserError for a trial that is not running.
        """
        with self._journal.lock():
            self._journal.running(number)
            self._journal.note(number, key, value)

    def trials(self) -> list[TrialRecord]:
        """Return the current trials of all processes, by number."""
        return self._journal.trials()

    def _suggestion(self, trials: list[TrialRecord], fixed: Mapping[str, Any]) -> Configuration:
        """Return an allowed suggestion of the algorithm.

        Forbidden suggestions are retried; after too many, an allowed configuration is drawn.
        """
        if self.algorithm == GRID:
            return self._next_of_grid(trials, fixed)
        seen = [*self._earlier, *trials] if learns(self.algorithm) else []
        memory = self._in_memory(seen, len(trials))
        for _ in range(_TRIES):
            configuration = self._drawn(memory, fixed)
            if self.space.allows(configuration):
                return configuration
        allowed = list(islice(self.space.listed(fixed), _MOST_LISTED))
        if not allowed:
            given = ", ".join(f"{name} {value}" for name, value in fixed.items())
            raise UserError(f"tuning.forbidden: nothing is allowed beside {given}")
        chosen = random.Random(seed_of(self.seed, len(trials))).choice(allowed)
        memory.sampler = sampler("random", self.seed, len(trials))
        return self._drawn(memory, chosen)

    def _drawn(self, memory: Any, fixed: Mapping[str, Any]) -> Configuration:
        trial = memory.ask()
        configuration = self.space.configuration(
            lambda name: suggested(trial, name, self.space.distributions[name]), fixed
        )
        memory.tell(trial, state=TrialState.FAIL)  # algorithms ignore failures
        return configuration

    def _next_of_grid(self, trials: list[TrialRecord], fixed: Mapping[str, Any]) -> Configuration:
        every = list(islice(self.space.listed(fixed), _MOST_LISTED + 1))
        if len(every) > _MOST_LISTED:
            raise UserError(f"algorithm grid: more than {_MOST_LISTED:,} configurations")
        random.Random(self.seed).shuffle(every)
        asked = {tuple(sorted(told.configuration.items())) for told in trials}
        for configuration in every:
            if tuple(sorted(configuration.items())) not in asked:
                return configuration
        raise NothingLeftError(f"{self._journal}: all {len(every)} configurations were asked for")

    def _in_memory(self, trials: list[TrialRecord], number: int) -> Any:
        """Return an Optuna study with the next trial's sampler and the trials it may see.

        It is made anew, as Optuna keeps random state in the process and has no paused trials.
        Trials with a score on the budget to learn from are complete, trials without a score are
        running, and others are left out.
        """
        budget = learnt_from(trials)
        if budget is None or draws_at_random(self.seed, number):
            return optuna.create_study(sampler=sampler("random", self.seed, number))
        memory = optuna.create_study(
            directions=["maximize"] * len(self._scores),
            sampler=sampler(self.algorithm, self.seed, number),
        )
        for told in trials:
            if told.failure is None and (budget in told.scores or not told.scores):
                memory.add_trial(self._as_seen(told, budget))
        return memory

    def _as_seen(self, told: TrialRecord, budget: Budget) -> Any:
        values = told.all_scores(budget) if budget in told.scores else None
        state = TrialState.RUNNING if values is None else TrialState.COMPLETE
        distributions = {name: self.space.distributions[name] for name in told.configuration}
        return create_trial(
            state=state, values=values, params=told.configuration, distributions=distributions
        )


def learnt_from(trials: Iterable[TrialRecord]) -> Budget | None:
    """Return the largest budget with enough scores to learn from, of trials without a failure.

    Scores on different budgets are not compared: most are low on a small budget.
    """
    counts = Counter(budget for told in trials if told.failure is None for budget in told.scores)
    return max((budget for budget in counts if counts[budget] >= ENOUGH), default=None)
