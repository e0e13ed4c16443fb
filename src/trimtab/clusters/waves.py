"""The phase-type time of a wave of tasks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class WavePhases:
    """The time of a wave of tasks: until a Markov chain ends.

    `start` are the probabilities of the first phases, (n,); `transitions` the rates between phases,
    1/s, (n, n), with a diagonal of minus the rates of leaving. Empty: there are no waves, and tasks
    have their own times.
    """

    start: tuple[float, ...] = ()
    transitions: tuple[tuple[float, ...], ...] = ()

    def tables(self) -> tuple[NDArray[np.float64], ...]:
        """Return, cumulated, the chances of first and of next phases, and the rates of leaving."""
        phases = len(self.start)
        matrix = np.array(self.transitions, float).reshape(phases, phases)
        leaving = -matrix.diagonal()
        jumps = np.where(np.eye(phases) > 0, 0.0, matrix)
        return np.cumsum(self.start, dtype=float), jumps.cumsum(axis=1), leaving


NO_WAVES = WavePhases()
