"""The journal of a search: every trial and what became of it, in a file that outlives processes.

It is Optuna's (JournalStorage), so that its tools can show it, and several processes may write it.
What Optuna leaves open is closed here: its lock outlives a killed holder by 30 s, so we have one
that ends with its holder; half a record, left by a killed writer or a full disk, would spoil the
file, so it is cut off; and a trial is judged on several budgets, so what it was told is one
attribute, `told`, written in one record: each score with the row of what the trial came to there,
so that no loss of power leaves one without the other.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import optuna
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial

from trimtab.errors import UserError
from trimtab.files import naming
from trimtab.locks import file_lock, lock_of
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.score import Failure
from trimtab.tuning.space import Configuration

Row = Mapping[str, Any]  # of what a trial came to on a budget: anything that JSON has
_PATIENCE_S = 60.0  # a suggestion by a model takes up to a second
_TOLD, _FAILURE, _MADE_WITH = "told", "failure", "made_with"
_NO_ROWS: Mapping[Budget, Row] = {}
_FIRST_BYTES = b'{"op_code":'  # of a journal, as Optuna writes it
_DAMAGED = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True)
class TrialRecord:
    """A trial of the journal: its configuration and what was told of it.

    `scores` are by budget, the largest last; `rows` are what was told with them, and with the
    failure on its budget. `is_running`: more may be told. `attributes` are what was noted with it,
    such as the folder of its checkpoint.
    """

    number: int
    configuration: Configuration
    scores: Mapping[Budget, float]
    failure: Failure | None
    is_running: bool
    attributes: Mapping[str, Any]
    rows: Mapping[Budget, Row] = field(default_factory=dict)

    @property
    def budget(self) -> Budget | None:
        """The largest budget that it has a score of."""
        return max(self.scores, default=None)


class JournalStorage(Protocol):
    """Where the records of a journal are, other than in a file of its own; its text says where."""

    def backend(self) -> Any:
        """Return what Optuna reads and writes."""

    def lock(self) -> AbstractContextManager[None]:
        """Be the only one that writes; raises UserError where another does without end."""


class FileStorage:
    """The records of journals in a file; a turn raises UserError for one that is no journal."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def backend(self) -> Any:
        """Return what Optuna reads and writes."""
        return JournalFileBackend(str(self.path), _InTurn())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only one that writes; raises UserError where another does without end."""
        said = f"{self.path}: held by another process"
        with file_lock(lock_of(self.path), said, _PATIENCE_S, stays=True), naming(self.path):
            _cut_torn_record(self.path)
            yield


class SearchJournal:
    """The study `name` in the journal at `place`; both are made where they are not there.

    Raises UserError for a file that is no journal.
    """

    def __init__(self, place: Path | JournalStorage, name: str) -> None:
        self.records: JournalStorage = FileStorage(place) if isinstance(place, Path) else place
        self.name = name
        self._has_turn = False
        with self.lock():
            try:
                self._storage = optuna.storages.JournalStorage(self.records.backend())
                self._study = optuna.create_study(
                    study_name=name,
                    storage=self._storage,
                    direction="maximize",
                    load_if_exists=True,
                )
            except _DAMAGED as error:
                raise self._damaged(error) from None

    def __str__(self) -> str:
        return f"{self.records}: study {self.name}"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only one that writes, which is done in a turn alone; one in another is part of it.

        Raises UserError where another process holds the journal without end.
        """
        if self._has_turn:
            yield
            return
        with self.records.lock():
            self._has_turn = True
            try:
                yield
            finally:
                self._has_turn = False

    def check_made_with(self, made_with: Mapping[str, Any]) -> None:
        """Keep what the study is made with, or raise UserError where it was made with another."""
        earlier = self._study.user_attrs.get(_MADE_WITH)
        if earlier is None:
            self._study.set_user_attr(_MADE_WITH, made_with)
        elif earlier != made_with:
            was = earlier if isinstance(earlier, dict) else {}
            changed = [key for key in made_with if was.get(key) != made_with[key]]
            raise UserError(
                f"{self} was made with other {', '.join(changed)}; take another name for this "
                "search, or remove the file (machines that share a search have as many CPUs each)"
            )

    def trials(self) -> list[TrialRecord]:
        """Return all trials by their numbers, of every process, as they are now.

        Raises UserError for a journal that was damaged.
        """
        try:
            return [_told(frozen) for frozen in self._study.get_trials(deepcopy=False)]
        except _DAMAGED as error:
            raise self._damaged(error) from None

    def running(self, number: int) -> TrialRecord:
        """Return a trial; raises UserError where it is not there or runs no more."""
        trials = self.trials()
        if not 0 <= number < len(trials):
            raise UserError(f"{self} has no trial {number}; it has {len(trials)}")
        told = trials[number]
        if told.failure:
            raise UserError(f"{self}: trial {number} failed: {told.failure.reason}")
        if not told.is_running:
            raise UserError(f"{self}: trial {number} is closed")
        return told

    def add(
        self,
        configuration: Configuration,
        distributions: Mapping[str, Any],
        notes: Mapping[str, Any],
    ) -> None:
        """Add a running trial with its attributes, in one record: killed, it is whole or not there.

        `distributions` are those of all parameters.
        """
        for key in notes:
            _check_key(key)
        self._study.add_trial(
            create_trial(
                state=TrialState.RUNNING,
                params=configuration,
                distributions={name: distributions[name] for name in configuration},
                user_attrs=dict(notes),
            )
        )

    def add_scores(
        self, number: int, scores: Mapping[Budget, float], rows: Mapping[Budget, Row] = _NO_ROWS
    ) -> None:
        """Keep all scores of a running trial, each with its row, in one record."""
        record = [
            [budget.epochs, budget.data_fraction, scores[budget], rows.get(budget)]
            for budget in sorted(scores)
        ]
        self._set(number, _TOLD, record)

    def note(self, number: int, key: str, value: Any) -> None:
        """Keep an attribute of a running trial: anything that JSON has."""
        _check_key(key)
        self._set(number, key, value)

    def fail(self, number: int, failure: Failure, budget: Budget, row: Row | None) -> None:
        """Keep the failure of a running trial on a budget, with its row, in one record."""
        record = [budget.epochs, budget.data_fraction, failure.reason, row]
        self._set(number, _FAILURE, record)

    def close_failed(self, number: int) -> None:
        """End a trial in Optuna's eyes by its failure."""
        self._storage.set_trial_state_values(self._id(number), TrialState.FAIL)

    def complete(self, number: int, score: float) -> None:
        """End a running trial in Optuna's eyes with its last score."""
        self._storage.set_trial_state_values(self._id(number), TrialState.COMPLETE, [score])

    def _set(self, number: int, key: str, value: Any) -> None:
        self._storage.set_trial_user_attr(self._id(number), key, value)

    def _id(self, number: int) -> int:
        found: int = self._storage.get_trial_id_from_study_id_trial_number(
            self._study._study_id, number
        )
        return found

    def _damaged(self, error: Exception) -> UserError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return UserError(
            f"{self.records}: a damaged journal ({reason}); remove it, and the search begins again"
        )


class _InTurn:
    """The lock that Optuna takes to write, which is done in a turn."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _check_key(key: str) -> None:
    if key in (_TOLD, _FAILURE):
        raise ValueError(f"{key}: the journal's own attribute")


def _told(frozen: Any) -> TrialRecord:
    attributes = dict(frozen.user_attrs)
    record, failed = attributes.pop(_TOLD, []), attributes.pop(_FAILURE, None)
    scores, rows = dict[Budget, float](), dict[Budget, Row]()
    # Until version 0.1 there were no rows here, and a failure was its reason alone.
    for epochs, fraction, score, *row in record:
        scores[Budget(epochs, fraction)] = score
        if row and row[0] is not None:
            rows[Budget(epochs, fraction)] = row[0]
    reason = failed
    if isinstance(failed, list):
        epochs, fraction, reason, of_failure = failed
        if of_failure is not None:
            rows.setdefault(Budget(epochs, fraction), of_failure)
    return TrialRecord(
        number=frozen.number,
        configuration=dict(frozen.params),
        scores=scores,
        failure=None if reason is None else Failure(reason),
        is_running=frozen.state == TrialState.RUNNING and reason is None,
        attributes=attributes,
        rows=rows,
    )


def _cut_torn_record(path: Path) -> None:
    """Cut off half a record; raise UserError, and change nothing, for what is no journal."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        first = file.read(len(_FIRST_BYTES))
        if not _FIRST_BYTES.startswith(first):
            raise UserError(f"{path}: not a journal of Optuna's; name another file")
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        if file.read() not in (b"\n", b""):
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
