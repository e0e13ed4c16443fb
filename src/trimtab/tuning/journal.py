"""The journal of a search: all trials and their results, in a file that outlives processes.

It is Optuna's JournalStorage, so Optuna's tools can show it and several processes can write it.
Three things differ. Optuna's lock outlives a killed holder by 30 s; ours ends with its holder. Half
a record, left by a killed writer or a full disk, would spoil the file; it is cut off. A trial is
judged on several budgets; one attribute, `told`, holds each score with its row. It is written in
one record, so a power loss cannot separate them.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
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
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.space import Configuration

Row = Mapping[str, Any]  # a trial's result on a budget: any JSON value
_PATIENCE_S = 60.0  # a suggestion by a model takes up to a second
_TOLD, _FAILURE, _MADE_WITH = "told", "failure", "made_with"
_NO_ROWS: Mapping[Budget, Row] = {}
_FIRST_BYTES = b'{"op_code":'  # of a journal, as Optuna writes it
_DAMAGED = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True)
class TrialRecord:
    """A trial of the journal: its configuration and its results.

    `scores` are by budget, the largest last; `rows` belong to the scores and to the failure on its
    budget. `is_running`: more results may follow. `attributes` are notes, such as the folder of its
    checkpoint.
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
        """The largest budget with a score."""
        return max(self.scores, default=None)

    def all_scores(self, budget: Budget) -> tuple[float, ...]:
        """Return the score on a budget, and those of further objectives."""
        return (self.scores[budget], *self.rows.get(budget, {}).get("others", ()))


class JournalStorage(Protocol):
    """Storage of a journal's records; its `str` says where."""

    def backend(self) -> Any:
        """Return Optuna's backend of the records."""

    def lock(self) -> AbstractContextManager[None]:
        """Hold the write lock; raises UserError where another process keeps it."""


class FileStorage:
    """The records of journals in a file; `lock` raises UserError for another kind of file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def backend(self) -> Any:
        """Return Optuna's backend of the records."""
        return JournalFileBackend(str(self.path), _InTurn())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the write lock; raises UserError where another process keeps it."""
        said = f"{self.path}: held by another process"
        with file_lock(lock_of(self.path), said, _PATIENCE_S, stays=True), naming(self.path):
            _cut_torn_record(self.path)
            yield


class SearchJournal:
    """The study `name` in the journal at `place`; creates both if missing.

    A new one has a score for each name in `scores`. Raises UserError for another kind of file.
    """

    def __init__(
        self, place: Path | JournalStorage, name: str, scores: Sequence[str] = ("score",)
    ) -> None:
        self.records: JournalStorage = FileStorage(place) if isinstance(place, Path) else place
        self.name = name
        self._has_turn = False
        with self.lock():
            try:
                self._storage = optuna.storages.JournalStorage(self.records.backend())
                self._study = optuna.create_study(
                    study_name=name,
                    storage=self._storage,
                    directions=["maximize"] * len(scores),
                    load_if_exists=True,
                )
                if len(scores) > 1:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                        if self._study.metric_names is None:  # Optuna's dashboard shows them
                            self._study.set_metric_names(list(scores))
            except _DAMAGED as error:
                raise self._damaged(error) from None

    def __str__(self) -> str:
        return f"{self.records}: study {self.name}"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the write lock, without which nothing is written; it is reentrant.

        Raises UserError where another process keeps the lock.
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
        """Record what the study is made with; raises UserError where an earlier record differs."""
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
        """Return the current trials of all processes, by number.

        Raises UserError for a damaged journal.
        """
        try:
            return [_told(frozen) for frozen in self._study.get_trials(deepcopy=False)]
        except _DAMAGED as error:
            raise self._damaged(error) from None

    def running(self, number: int) -> TrialRecord:
        """Return a running trial; raises UserError where it does not exist or has ended."""
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
        """Add a running trial with its attributes, atomically.

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
        """Record all scores of a running trial, each with its row, atomically."""
        record = [
            [budget.epochs, budget.data_fraction, scores[budget], rows.get(budget)]
            for budget in sorted(scores)
        ]
        self._set(number, _TOLD, record)

    def note(self, number: int, key: str, value: Any) -> None:
        """Record an attribute of a running trial: any JSON value."""
        _check_key(key)
        self._set(number, key, value)

    def fail(self, number: int, failure: Failure, budget: Budget, row: Row | None) -> None:
        """Record the failure of a running trial on a budget, with its row, atomically."""
        record = [budget.epochs, budget.data_fraction, failure.reason, row]
        self._set(number, _FAILURE, record)

    def close_failed(self, number: int) -> None:
        """Mark a trial as failed for Optuna."""
        self._storage.set_trial_state_values(self._id(number), TrialState.FAIL)

    def complete(self, number: int, scores: Sequence[float]) -> None:
        """Mark a running trial as complete for Optuna, with its last scores."""
        self._storage.set_trial_state_values(self._id(number), TrialState.COMPLETE, scores)

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
    """Optuna's write lock, without effect: we write under the journal's own lock."""

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
    # Until version 0.1 there were no rows here, and a failure was only its reason.
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
    """Cut off an incomplete record; raises UserError, unchanged, for another kind of file."""
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
