"""The algorithms that suggest configurations, by name: Optuna's, with a seed for each trial.

An algorithm here is stateless: it is made anew for every suggestion, from the study's seed, the
trial's number and the journal. So all processes make the same suggestion.

    random  draws each parameter independently (RandomSampler)
    tpe     a tree-structured Parzen estimator over all parameters, with one model for each group of
            parameters that occur together; running trials count as bad ones (TPESampler:
            multivariate, group, constant_liar). As in BOHB (Falkner et al., ICML 2018), it learns
            from the largest budget with enough scores, and draws a share of the configurations at
            random. By several objectives, it prefers trials near the Pareto front (Ozaki et al.,
            GECCO 2020)
    grid    every configuration once, in an order by the seed, if they can be listed

Optuna's algorithms without conditions and budgets (CMA-ES, Gaussian processes, quasi-random
sequences) are left out, as is NSGA-II, whose generations outlast a suggestion. The grid is our own
list: Optuna's GridSampler knows no conditions, its BruteForceSampler no forbidden sets.
"""

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna

from trimtab.config.validate import nearest
from trimtab.errors import UserError

GRID = "grid"
ENOUGH = 10  # scores that a budget needs to be learnt from
_RANDOM_SHARE = 0.2


def _tpe(seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # of `group`
        return optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=0, multivariate=True, group=True, constant_liar=True
        )


_SAMPLERS: dict[str, Callable[[int], Any]] = {
    "random": optuna.samplers.RandomSampler,
    "tpe": _tpe,
}
ALGORITHMS = (*_SAMPLERS, GRID)


def check_algorithm(name: str) -> None:
    """Raise UserError for an unknown algorithm."""
    if name not in ALGORITHMS:
        hint = nearest(name, ALGORITHMS)
        raise UserError(f"algorithm: {name!r} given; {hint}expected one of {', '.join(ALGORITHMS)}")


def learns(name: str) -> bool:
    """Whether an algorithm's suggestions depend on scores."""
    return name not in ("random", GRID)


def sampler(name: str, seed: int, number: int) -> Any:
    """Return Optuna's sampler for one trial of a study; the grid has none."""
    return _SAMPLERS[name](seed_of(seed, number))


def draws_at_random(seed: int, number: int) -> bool:
    """Whether a learning algorithm draws this trial at random."""
    return random.Random(seed_of(seed, number)).random() < _RANDOM_SHARE


def seed_of(seed: int, number: int) -> int:
    """Return a 32-bit seed of a trial; trials of one study have unrelated seeds."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
