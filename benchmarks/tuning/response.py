"""Response times of tuning jobs that share a machine, from the measured durations of searches.

Rocha's thesis, section 6.4.5: jobs arrive at exponential intervals and are served one after the
other, and a fifth of them is of unseen workloads. That is an M/G/1 queue, whose mean response time
is Pollaczek's and Khinchine's E[S] + a E[S^2] / (2 (1 - a E[S])) for arrivals at the rate a. The
thesis names no load; here it is that of Tune V1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

LOADS = (0.5, 0.8)
UNSEEN = 0.2
RESAMPLES = 2000


def ratio(runs: Mapping[str, Sequence[Mapping[str, Any]]], load: float) -> dict[str, float]:
    """Return PipeTune's mean response time over Tune V1's, and its bootstrap interval of 95 %.

    `runs` are the searches of pipetune.py; seeds are drawn again, each with all of its searches. It
    is infinite where so many jobs never end.
    """
    names = ("tune_v1", "pipetune", "pipetune_known")
    fewest = min(len(runs[name]) for name in names)
    seconds = np.array([[one["tuning_s"] for one in runs[name][:fewest]] for name in names])
    drawn = np.random.default_rng(0).integers(0, seconds.shape[1], (RESAMPLES, seconds.shape[1]))
    again = [_ratio(*seconds[:, seeds], load) for seeds in drawn]
    low, high = np.quantile(again, [0.025, 0.975], method="nearest")  # some may be infinite
    return {"median": _ratio(*seconds, load), "low": float(low), "high": float(high)}


def _ratio(v1: np.ndarray, new: np.ndarray, known: np.ndarray, load: float) -> float:
    rate = load / v1.mean()
    both = [UNSEEN * (new**n).mean() + (1 - UNSEEN) * (known**n).mean() for n in (1, 2)]
    return _response(both[0], both[1], rate) / _response(v1.mean(), (v1**2).mean(), rate)


def _response(mean_s: float, mean_square_s2: float, rate: float) -> float:
    if rate * mean_s >= 1:
        return float("inf")
    return float(mean_s + rate * mean_square_s2 / (2 * (1 - rate * mean_s)))
