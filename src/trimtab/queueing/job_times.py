"""Processing times of jobs of rounds on an engine: setup, map tasks, shuffle, reduce tasks."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.errors import ModelError
from trimtab.queueing.phase_type import PhaseType, exit_rates, exponential

_TOLERANCE = 1e-9


def effective_tasks(tasks: int, drop_ratio: float) -> int:
    """Return the number of `tasks` left when the share `drop_ratio` is dropped.

    ceil(n (1 - theta)), Rocha's thesis, section 4.3.1, safe against rounding: 10 (1 - 0.7) is 3.
    Raises ModelError for a ratio outside [0, 1] or negative tasks.
    """
    if not 0 <= drop_ratio <= 1:
        raise ModelError(f"a drop ratio is in [0, 1], not {drop_ratio}")
    if tasks < 0:
        raise ModelError(f"a job cannot have {tasks} tasks")
    return math.ceil(tasks * (1 - drop_ratio) - _TOLERANCE)


@dataclass(frozen=True)
class TaskModel:
    """A class of jobs by its tasks, all exponential (Rocha's thesis, section 4.3.1).

    Means of the setup, a map task, the shuffle and a reduce task, in s; 0: there is no such round.
    `map_tasks` and `reduce_tasks` give the probability of each number of tasks; `slots` run at a
    time (C of table 4.1). Each of `map_stages` stages has `map_tasks` tasks, and drops tasks of
    those that the one before has left. Raises ModelError for invalid values.
    """

    setup_s: float
    map_task_s: float
    shuffle_s: float
    reduce_task_s: float
    map_tasks: Mapping[int, float]
    reduce_tasks: Mapping[int, float]
    slots: int
    map_stages: int = 1

    def __post_init__(self) -> None:
        _check_tasks(self.map_tasks, self.reduce_tasks, self.slots)
        _check_stages(self.map_stages)
        for name in ("setup_s", "map_task_s", "shuffle_s", "reduce_task_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ModelError(f"{name} is a time from 0 on, not {getattr(self, name)}")

    def processing_time(
        self, map_drop_ratio: float = 0.0, reduce_drop_ratio: float = 0.0
    ) -> PhaseType:
        """Return the time of a whole job after dropping, equation 4.1.

        Raises ModelError where a job may have no work at all.
        """
        stages = [
            self._round(left, self.map_task_s)
            for left in _stages(self.map_tasks, self.map_stages, map_drop_ratio)
        ]
        return _in_sequence(
            [
                _once(exponential(1 / self.setup_s) if self.setup_s else None),
                *stages,
                _once(exponential(1 / self.shuffle_s) if self.shuffle_s else None),
                self._round(
                    _after_dropping(self.reduce_tasks, reduce_drop_ratio), self.reduce_task_s
                ),
            ]
        )

    def _round(self, left: Mapping[int, float], task_s: float) -> "_Round":
        most = max(left) if task_s else 0
        if not most:
            return _once(None)
        # The first phase has the most remaining tasks, the last has one.
        number = np.arange(most, 0, -1)
        rates = np.minimum(number, self.slots) / task_s
        alpha = np.array([left.get(int(n), 0.0) for n in number])
        return _Round(alpha, rates[:, None] * (np.eye(most, k=1) - np.eye(most)))


@dataclass(frozen=True, eq=False)
class WaveModel:
    """A class of jobs by its waves: ceil(tasks / slots) of them, one after the other.

    `setup` and `shuffle` may be None. `map_wave` and `reduce_wave` are the time of one wave: by
    `fit_two_moments` from measured means and variations, or `erlang` with many phases for tasks of
    equal time (Rocha's thesis, section 4.3.2). `map_stages` as in TaskModel.
    """

    setup: PhaseType | None
    map_wave: PhaseType
    shuffle: PhaseType | None
    reduce_wave: PhaseType
    map_tasks: Mapping[int, float]
    reduce_tasks: Mapping[int, float]
    slots: int
    map_stages: int = 1

    def __post_init__(self) -> None:
        _check_tasks(self.map_tasks, self.reduce_tasks, self.slots)
        _check_stages(self.map_stages)

    def processing_time(
        self, map_drop_ratio: float = 0.0, reduce_drop_ratio: float = 0.0
    ) -> PhaseType:
        """Return the time of a whole job after dropping.

        Raises ModelError where a job may have no work at all.
        """
        stages = [
            self._round(left, self.map_wave)
            for left in _stages(self.map_tasks, self.map_stages, map_drop_ratio)
        ]
        reduces = _after_dropping(self.reduce_tasks, reduce_drop_ratio)
        return _in_sequence(
            [
                _once(self.setup),
                *stages,
                _once(self.shuffle),
                self._round(reduces, self.reduce_wave),
            ]
        )

    def _round(self, left: Mapping[int, float], wave: PhaseType) -> "_Round":
        waves: dict[int, float] = {}
        for tasks, chance in left.items():
            count = -(-tasks // self.slots)
            waves[count] = waves.get(count, 0.0) + chance
        most = max(waves)
        if not most:
            return _once(None)
        # The first block is a wave before most - 1 others; the last block is the last wave.
        chances = np.array([waves.get(count, 0.0) for count in range(most, 0, -1)])
        following = np.outer(wave.exit_rates, wave.alpha)
        matrix = np.kron(np.eye(most), wave.matrix) + np.kron(np.eye(most, k=1), following)
        return _Round(np.kron(chances, wave.alpha), matrix)


@dataclass(frozen=True, eq=False)
class _Round:
    """A phase-type time; `alpha` may sum to less than 1, leaving the chance of no round."""

    alpha: NDArray[np.float64]
    matrix: NDArray[np.float64]


def _once(time: PhaseType | None) -> _Round:
    if time is None:
        return _Round(np.zeros(0), np.zeros((0, 0)))
    return _Round(time.alpha, time.matrix)


def _in_sequence(rounds: list[_Round]) -> PhaseType:
    alpha, matrix = np.zeros(0), np.zeros((0, 0))
    for part in rounds:
        skipped = 1 - alpha.sum()
        following = np.outer(exit_rates(matrix), part.alpha)
        # Where `part` is absent, the rest of an exit rate leads to a later one or ends the job.
        corner = np.zeros((part.alpha.size, alpha.size))
        matrix = np.block([[matrix, following], [corner, part.matrix]])
        alpha = np.concatenate([alpha, skipped * part.alpha])
    if abs(alpha.sum() - 1) > _TOLERANCE:
        raise ModelError(
            f"with probability {1 - alpha.sum():g} a job has nothing at all to do: give it a setup "
            "time, or lower the drop ratio"
        )
    return PhaseType(alpha / alpha.sum(), matrix)


def _after_dropping(tasks: Mapping[int, float], drop_ratio: float) -> dict[int, float]:
    left: dict[int, float] = {}
    for number, chance in tasks.items():
        kept = effective_tasks(number, drop_ratio)
        left[kept] = left.get(kept, 0.0) + chance
    return left


def _stages(
    tasks: Mapping[int, float], stages: int, drop_ratio: float
) -> Iterator[dict[int, float]]:
    """Yield the tasks that each stage runs: it drops of those that the one before has left."""
    left = dict(tasks)
    for _ in range(stages):
        left = _after_dropping(left, drop_ratio)
        yield left


def _check_stages(map_stages: int) -> None:
    if map_stages < 1:
        raise ModelError(f"a job has one stage of map tasks or more, not {map_stages}")


def _check_tasks(
    map_tasks: Mapping[int, float], reduce_tasks: Mapping[int, float], slots: int
) -> None:
    if slots < 1:
        raise ModelError(f"an engine has one slot or more, not {slots}")
    for name, tasks in (("map_tasks", map_tasks), ("reduce_tasks", reduce_tasks)):
        if any(number < 0 or number != int(number) for number in tasks):
            raise ModelError(f"{name} are whole numbers from 0 on: {sorted(tasks)}")
        if any(not chance >= 0 for chance in tasks.values()):
            raise ModelError(f"the probabilities of {name} must not be negative")
        if abs(math.fsum(tasks.values()) - 1) > _TOLERANCE:
            raise ModelError(
                f"the probabilities of {name} sum to 1, not {math.fsum(tasks.values()):g}"
            )
