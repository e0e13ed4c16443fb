"""A search: configurations suggested by a seed, and what became of them, in a journal."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
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
from trimtab.tuning.score import Failure
from trimtab.tuning.space import Configuration, SearchSpace, suggested

_TRIES = 100  # of the algorithm, before what is allowed is listed
_MOST_LISTED = 10_000
_NO_NOTES: Mapping[str, Any] = {}


class NothingLeftError(TrimtabError):
    """Every configuration of a grid has been asked for."""


class Study:
    """One search in the journal at `place`, found again by its `name`.

    `kinds` are the kinds of parameters that are searched, others keep their defaults; `algorithm`
    is one of `samplers`. The same seed and the same told scores give the same suggestions, in one
    process or in several, killed between or not: a suggestion is made for the trial's number of
    what the journal holds, while no other process makes one. Raises UserError for an algorithm that
    is none or cannot search this space, for a file that is no journal, and where the study of that
    name was made with another space, algorithm or seed; all methods do where another process holds
    the journal without end.
    """

    def __init__(
        self,
        place: Path | JournalStorage,
        name: str,
        space: SearchSpace,
        kinds: Iterable[Kind],
        algorithm: str,
        seed: int,
    ) -> None:
        check_algorithm(algorithm)
        self.space, self.algorithm, self.seed = space.of(kinds), algorithm, seed
        if algorithm == GRID and not self.space.is_countable:
            free = [one for one in self.space.names if not space.parameters[one].is_countable]
            raise UserError(
                f"algorithm grid: {', '.join(free)} cannot be listed; give `choices`, or `whole`"
            )
        self._journal = SearchJournal(place, name)
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

    def lock(self) -> AbstractContextManager[None]:
        """Be the only process that asks, tells and notes while the block runs."""
        return self._journal.lock()

    def ask(self, notes: Mapping[str, Any] = _NO_NOTES) -> tuple[int, Configuration]:
        """Return a new trial: its number, from 0, and its configuration.

        `notes` are kept with it as by `note`, in the same record: whoever finds the trial after a
        kill finds them. Raises NothingLeftError where a grid has no more.
        """
        return self.ask_within({}, notes)

    def ask_within(
        self, fixed: Mapping[str, Any], notes: Mapping[str, Any] = _NO_NOTES
    ) -> tuple[int, Configuration]:
        """Return a new trial as `ask`, with the values of `fixed`, by full name, as given.

        They may be of kinds that are not searched; what is not there by its condition is left out.
        Raises UserError for a value that its parameter does not take, and where they leave nothing
        that is allowed.
        """
        self.space.check(fixed)
        with self._journal.lock():
            trials = self._journal.trials()
            configuration = self._suggestion(trials, fixed)
            self._journal.add(configuration, self.space.distributions, notes)
        return len(trials), configuration

    def tell(
        self, number: int, budget: Budget, result: float | Failure, row: Row | None = None
    ) -> None:
        """Say what a running trial came to on a budget: its score, higher is better, or a failure.

        A score that is no finite number is a failure, and a trial that failed runs no more. Told
        twice for a budget, the later counts. The `row` is kept in the same record: whoever finds
        the score after a loss of power finds the row. Raises UserError for a trial that is not
        running.
        """
        if not isinstance(result, Failure) and not math.isfinite(result):
            result = Failure(f"the score is {result}")
        with self._journal.lock():
            told = self._journal.running(number)
            if isinstance(result, Failure):
                self._journal.fail(number, result, budget, row)
                if row is None:  # else it can be amended
                    self._journal.close_failed(number)
            else:
                rows = told.rows if row is None else {**told.rows, budget: row}
                self._journal.add_scores(number, {**told.scores, budget: float(result)}, rows)

    def amend(self, number: int, budget: Budget, row: Row) -> None:
        """Replace the row that was told of a budget with a score or a failure.

        A trial that failed is closed by it. One that is closed stays as it is: another machine had
        it since, as this one was cut off.
        """
        with self._journal.lock(), suppress(UpdateFinishedTrialError):
            told = self._journal.trials()[number]
            if budget in told.scores:
                self._journal.add_scores(number, told.scores, {**told.rows, budget: row})
            elif told.failure is not None:
                self._journal.fail(number, told.failure, budget, row)
                self._journal.close_failed(number)

    def close(self, number: int) -> None:
        """Say that nothing more will be told of a running trial that has a score.

        What is suggested does not depend on it. Raises UserError for a trial that is not running,
        or was told no score.
        """
        with self._journal.lock():
            told = self._journal.running(number)
            if told.budget is None:
                raise UserError(f"{self._journal}: trial {number} was told no score")
            self._journal.complete(number, told.scores[told.budget])

    def note(self, number: int, key: str, value: Any) -> None:
        """Keep an attribute of a running trial, such as its rung, for whoever resumes it.

        `value` is anything that JSON has. Raises UserError for a trial that is not running.
        """
        with self._journal.lock():
            self._journal.running(number)
            self._journal.note(number, key, value)

    def trials(self) -> list[TrialRecord]:
        """Return all trials by their numbers, of every process, as the journal has them now."""
        return self._journal.trials()

    def _suggestion(self, trials: list[TrialRecord], fixed: Mapping[str, Any]) -> Configuration:
        """Return what the algorithm suggests and is allowed.

        What is forbidden is suggested again; where that goes on, one of what is allowed is drawn.
        """
        if self.algorithm == GRID:
            return self._next_of_grid(trials, fixed)
        memory = self._in_memory(trials if learns(self.algorithm) else [], len(trials))
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
        memory.tell(trial, state=TrialState.FAIL)  # which no algorithm looks at
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
        """Return a study of Optuna's with the next trial's sampler and what it is to see.

        It is made anew, as Optuna keeps random numbers in the process, and knows no trials that are
        paused: here one that has a score on the budget that is learnt from is complete, one that
        has no score yet is running, and of others nothing is known.
        """
        budget = learnt_from(trials)
        if budget is None or draws_at_random(self.seed, number):
            return optuna.create_study(sampler=sampler("random", self.seed, number))
        memory = optuna.create_study(
            direction="maximize", sampler=sampler(self.algorithm, self.seed, number)
        )
        for told in trials:
            if told.failure is None and (budget in told.scores or not told.scores):
                memory.add_trial(self._as_seen(told, told.scores.get(budget)))
        return memory

    def _as_seen(self, told: TrialRecord, score: float | None) -> Any:
        state = TrialState.RUNNING if score is None else TrialState.COMPLETE
        distributions = {name: self.space.distributions[name] for name in told.configuration}
        return create_trial(
            state=state, value=score, params=told.configuration, distributions=distributions
        )


def learnt_from(trials: Iterable[TrialRecord]) -> Budget | None:
    """Return the largest budget that has enough scores to learn from, of trials that did not fail.

    Scores on different budgets are not compared: on a small one most are bad for its smallness.
    """
    counts = Counter(budget for told in trials if told.failure is None for budget in told.scores)
    return max((budget for budget in counts if counts[budget] >= ENOUGH), default=None)
