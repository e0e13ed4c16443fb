"""HEATS for gangs: the node type with the best score of energy and performance, with EASY.

Rocha's thesis, sections 3.2 and 3.3.4, algorithm 4: the score of a node type is

    energy_weight * (1 - energy_j / largest energy_j)
    + (1 - energy_weight) * (performance / largest performance)

over the types that can run the job. All parts of a job run on one type, so its score is that of a
part. Running jobs do not move.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.policies.base import BatchPolicy
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError


class HeatsForGangs(BatchPolicy):
    """The weight of energy is from 0 (performance alone) to 1 (energy alone)."""

    def __init__(self, energy_weight: float) -> None:
        """Raise UserError for a weight outside 0 to 1."""
        if not 0 <= energy_weight <= 1:
            raise UserError(f"heats: energy_weight: {energy_weight:g} given, expected 0 to 1")
        self.energy_weight = energy_weight

    def cost(
        self, run_s: NDArray[np.float64], energy_j: NDArray[np.float64], cluster: Cluster
    ) -> NDArray[np.float64] | None:
        """Return the negative scores."""
        able = np.isfinite(run_s)
        energy = np.where(able, energy_j, 0.0)
        performance = np.where(able, 1.0 / run_s, 0.0)
        most_j = np.maximum(energy.max(axis=1, keepdims=True), np.finfo(float).tiny)
        best = np.maximum(performance.max(axis=1, keepdims=True), np.finfo(float).tiny)
        weight = self.energy_weight
        score: NDArray[np.float64] = (
            weight * (1.0 - energy / most_j) + (1.0 - weight) * performance / best
        )
        return -score


def build(*, energy_weight: float = 1.0) -> BatchPolicy:
    """Return the policy."""
    return HeatsForGangs(energy_weight)
