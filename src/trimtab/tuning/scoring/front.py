"""Trials judged by several scores: the Pareto front, an order of all, and a choice of one.

Every score is better when higher. A trial dominates another that is better in no score and worse
in one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

Scores = tuple[float, ...]  # of a trial, by each objective


def front_of(found: Sequence[Scores]) -> list[int]:
    """Return the positions of those that none dominates, in their order; equal ones all stay."""
    return [int(at) for at in np.flatnonzero(~_dominance(found).any(axis=0))]


def best_first(found: Sequence[Scores]) -> list[int]:
    """Return all positions, the best first; of equal ones the earlier one.

    Trials are sorted by fronts (Deb et al., "A fast and elitist multiobjective genetic algorithm:
    NSGA-II", 2002). Within a front, the best by the first score leads, and the farthest from those
    before it is always next (Schmucker et al., "Multi-objective Asynchronous Successive Halving",
    2021), so that few of them cover the front.
    """
    if not found:
        return []
    if len(found[0]) == 1:
        return sorted(range(len(found)), key=lambda at: -found[at][0])
    dominance, scaled = _dominance(found), _scaled(np.array(found))
    left, order = np.arange(len(found)), list[int]()
    while len(left):
        is_front = ~dominance[np.ix_(left, left)].any(axis=0)
        order += _spread(left[is_front], scaled)
        left = left[~is_front]
    return order


def choice(found: Sequence[Scores], bounds: Sequence[float | None]) -> int:
    """Return the position of the one nearest to the best of each score without a bound.

    `bounds` has the least value of each score, or None. Distances are Euclidean, over ranges of 0
    to 1. Only those that keep all bounds count; if there is none, those that miss them least. If
    every score has a bound, all scores count. The first of equal ones wins.
    """
    scores = np.array(found)
    bounded = [at for at, bound in enumerate(bounds) if bound is not None]
    missed = np.array([bounds[at] for at in bounded]) - scores[:, bounded]
    excess = (np.maximum(missed, 0.0) / _ranges(scores)[bounded]).sum(axis=1)
    kept = np.flatnonzero(excess == excess.min())
    free = [at for at in range(scores.shape[1]) if at not in bounded] or list(range(len(bounds)))
    away = 1 - _scaled(scores[kept][:, free])
    return int(kept[np.linalg.norm(away, axis=1).argmin()])


def never_better_since(found: Sequence[Scores]) -> int:
    """Return how many of the last ones are dominated by, or equal to, an earlier one."""
    better = [
        at for at, one in enumerate(found)
        if not any(all(a >= b for a, b in zip(each, one, strict=True)) for each in found[:at])
    ]  # fmt: skip
    return len(found) - 1 - better[-1] if better else 0


def _dominance(found: Sequence[Scores]) -> Any:
    """Return a square of booleans: whether the one of the row dominates that of the column."""
    scores = np.array(found)
    no_worse = (scores[:, None] >= scores[None]).all(axis=2)
    return no_worse & ~no_worse.T


def _ranges(scores: Any) -> Any:
    ranges = np.ptp(scores, axis=0)
    return np.where(ranges > 0, ranges, 1.0)


def _scaled(scores: Any) -> Any:
    """Return scores such that the best of each is 1, and the worst 0 where it differs."""
    return 1 - (scores.max(axis=0) - scores) / _ranges(scores)


def _spread(front: Any, scaled: Any) -> list[int]:
    """Return the positions in `front`: the best by the first score, then always the farthest."""
    points = scaled[front]
    order = [int(points[:, 0].argmax())]
    away = np.linalg.norm(points - points[order[0]], axis=1)
    while len(order) < len(front):
        away[order] = -1.0
        order.append(int(away.argmax()))
        away = np.minimum(away, np.linalg.norm(points - points[order[-1]], axis=1))
    return [int(at) for at in front[order]]
