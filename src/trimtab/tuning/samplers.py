"""The algorithms that suggest configurations, by name: Optuna's, each with a seed for one trial.

An algorithm here has no memory: it is made anew for every suggestion, of the study's seed and the
trial's number, and is shown what the journal holds. So a suggestion depends on nothing else, and is
the same in whichever process it is made.

    random  draws each parameter on its own (RandomSampler)
    tpe     a tree-structured Parzen estimator of all parameters together, with one model for each
            group of parameters that occur together, and trials that still run taken for bad ones
            (TPESampler: multivariate, group, constant_liar). As in BOHB (Falkner et al., ICML 2018)
            it learns from one budget, the largest that has enough scores, and a share of the
            configurations is drawn at random
    grid    every configuration once, in an order by the seed, where they can be listed

Left out are those of Optuna's that know neither conditions nor budgets (CMA-ES, Gaussian processes,
quasi-random sequences) and those for several objectives. The grid is a list of ours: Optuna's
GridSampler knows no conditions, and its BruteForceSampler no forbidden sets.
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
ENOUGH = 10  # scores on a budget to learn from it
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
    """Raise UserError for an algorithm that is none."""
    if name not in ALGORITHMS:
        hint = nearest(name, ALGORITHMS)
        raise UserError(f"algorithm: {name!r} given; {hint}expected one of {', '.join(ALGORITHMS)}")


def learns(name: str) -> bool:
    """Whether what an algorithm suggests depends on what was told."""
    return name not in ("random", GRID)


def sampler(name: str, seed: int, number: int) -> Any:
    """Return Optuna's sampler for one trial of a study; the grid has none."""
    return _SAMPLERS[name](seed_of(seed, number))


def draws_at_random(seed: int, number: int) -> bool:
    """Whether a trial is one of those that an algorithm that learns draws at random."""
    return random.Random(seed_of(seed, number)).random() < _RANDOM_SHARE


def seed_of(seed: int, number: int) -> int:
    """Return the seed of a trial, of 32 bits: trials of one study have unrelated ones."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1)[0])
