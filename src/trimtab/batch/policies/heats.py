"""HEATS for gangs: the node type with the best score of energy and performance, with EASY.

Rocha's thesis, sections 3.2 and 3.3.4, algorithm 4: the score of a node type is

    energy_weight * (1 - energy_j / largest energy_j)
    + (1 - energy_weight) * (performance / largest performance)

over the types that can run the job, and with `choose_level` over their levels too, of frequency
or of power (as the limits of `gpu_a40`). All parts of a job run on one type, so its score is that
of a part. Running jobs do not move.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.policies.base import BatchPolicy
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError


class HeatsForGangs(BatchPolicy):
    """The weight of energy is from 0 (performance alone) to 1 (energy alone)."""

    def __init__(self, energy_weight: float, choose_level: bool) -> None:
        """Raise UserError for a weight outside 0 to 1."""
        if not 0 <= energy_weight <= 1:
            raise UserError(f"heats: energy_weight: {energy_weight:g} given, expected 0 to 1")
        self.energy_weight, self.choose_level = energy_weight, choose_level

    def level(
        self, run_s: NDArray[np.float64], energy_j: NDArray[np.float64]
    ) -> NDArray[np.int64] | None:
        """Return the levels of the best scores."""
        if not self.choose_level:
            return None
        # The last of equals is the fastest.
        backwards = self._scores(run_s, energy_j)[..., ::-1].argmax(axis=2)
        return np.asarray(run_s.shape[2] - 1 - backwards, np.int64)

    def cost(
        self, run_s: NDArray[np.float64], energy_j: NDArray[np.float64], cluster: Cluster
    ) -> NDArray[np.float64] | None:
        """Return the negative scores."""
        return -self._scores(run_s, energy_j)

    def _scores(
        self, run_s: NDArray[np.float64], energy_j: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the scores of each kind on all others; below all where it cannot run."""
        able, others = np.isfinite(run_s), tuple(range(1, run_s.ndim))
        energy = np.where(able, energy_j, 0.0)
        performance = np.where(able, 1.0 / run_s, 0.0)
        least = np.finfo(float).tiny  # nodes may draw nothing
        most_j = np.maximum(energy.max(axis=others, keepdims=True), least)
        best = np.maximum(performance.max(axis=others, keepdims=True), least)
        weight = self.energy_weight
        score = weight * (1.0 - energy / most_j) + (1.0 - weight) * performance / best
        scores: NDArray[np.float64] = np.where(able, score, -1.0)
        return scores


def build(*, energy_weight: float = 1.0, choose_level: float = 0.0) -> BatchPolicy:
    """Return the policy; `choose_level` is 1 to choose the level with the node type."""
    return HeatsForGangs(energy_weight, bool(choose_level))
