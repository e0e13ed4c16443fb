"""Sums, mixtures and multiples of phase-type times, which formulas are checked with."""

from collections.abc import Sequence

import numpy as np

from trimtab.queueing.phase_type import PhaseType


def convolve(first: PhaseType, second: PhaseType) -> PhaseType:
    """Return the distribution of the sum of two independent times."""
    matrix = np.block(
        [
            [first.matrix, np.outer(first.exit_rates, second.alpha)],
            [np.zeros((second.phases, first.phases)), second.matrix],
        ]
    )
    return PhaseType(np.concatenate([first.alpha, np.zeros(second.phases)]), matrix)


def mixture(probabilities: Sequence[float], parts: Sequence[PhaseType]) -> PhaseType:
    """Return the distribution of a time that is drawn from one of `parts`."""
    alpha = [p * part.alpha for p, part in zip(probabilities, parts, strict=True)]
    matrix = np.zeros((sum(part.phases for part in parts),) * 2)
    at = 0
    for part in parts:
        matrix[at : at + part.phases, at : at + part.phases] = part.matrix
        at += part.phases
    return PhaseType(np.concatenate(alpha), matrix)


def scaled(ph: PhaseType, factor: float) -> PhaseType:
    """Return the distribution of `factor` times the time."""
    return PhaseType(ph.alpha, ph.matrix / factor)
