"""Random search, and grid search: every trial is trained to the end."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from trimtab.config.groups.tuning import Kind
from trimtab.tuning.hyperband import Rung
from trimtab.tuning.narrowed import within_cores
from trimtab.tuning.samplers import GRID
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.tuners import hyperband
from trimtab.tuning.tuners.base import Tuner, TunerInputs


def build(
    facts: TunerInputs,
    *,
    trials: int = 10,
    searched: Sequence[str] = (Kind.MODEL, Kind.TRAINING),
    algorithm: str = "random",
) -> Tuner:
    """Return the tuner of `trials` trials; of a grid, no more than it has."""
    made = hyperband.build(facts, searched=searched, algorithm=algorithm)
    space = SearchSpace(within_cores(facts.tuning, Kind.SYSTEM, facts.cpus), made.searched)
    if algorithm == GRID and space.is_countable:
        trials = sum(1 for _ in islice(space.listed({}), trials))
    return replace(made, brackets=[(Rung(trials, made.fidelity.levels),)])
