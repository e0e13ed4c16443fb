"""Mean times of a job's rounds: set-up, waves of map tasks, shuffle, waves of reduce tasks."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.waves import NO_WAVES, WavePhases
from trimtab.errors import UserError

_DISTRIBUTIONS = ("deterministic", "exponential", "erlang", "lognormal")


@dataclass(frozen=True)
class RoundServiceTimes:
    """Mean times of a job's rounds and of their tasks (Rocha's thesis, table 4.1).

    All four have the `distribution`: deterministic, exponential, erlang or lognormal. The last two
    have the squared coefficient of variation `scv` (1/k for Erlang, with a whole k). Map tasks are
    in `map_stages` stages, one after the other, each of as many tasks. Where `map_wave` is given,
    tasks run in waves of as many as there are slots, and the waves have the times, also
    `reduce_wave`.
    """

    setup_s: float
    map_task_s: float
    shuffle_s: float
    reduce_task_s: float
    distribution: str = "exponential"
    scv: float = 1.0
    map_stages: int = 1
    map_wave: WavePhases = NO_WAVES
    reduce_wave: WavePhases = NO_WAVES

    def __post_init__(self) -> None:
        if self.distribution not in _DISTRIBUTIONS:
            message = f"{self.distribution!r}, expected one of {', '.join(_DISTRIBUTIONS)}"
            raise UserError(f"rounds: distribution: {message}")
        if min(self.setup_s, self.map_task_s, self.shuffle_s, self.reduce_task_s) < 0:
            raise UserError("rounds: a mean time is negative")
        if not self.scv > 0:
            raise UserError(f"rounds: scv: {self.scv:g}, expected a number above 0")

    def parameters(self) -> tuple[NDArray[np.float64], int, float]:
        """Return the means, the distribution's number and its shape (Erlang's k, log's sigma)."""
        means = np.array([self.setup_s, self.map_task_s, self.shuffle_s, self.reduce_task_s])
        shape = 0.0
        if self.distribution == "erlang":
            shape = float(max(1, round(1 / self.scv)))
        elif self.distribution == "lognormal":
            shape = math.sqrt(math.log1p(self.scv))
        return means, _DISTRIBUTIONS.index(self.distribution), shape
