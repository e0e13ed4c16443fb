"""Random search: every trial is trained to the end."""

from collections.abc import Sequence
from dataclasses import replace

from trimtab.config.groups.tuning import Kind
from trimtab.tuning.hyperband import Rung
from trimtab.tuning.tuners import hyperband
from trimtab.tuning.tuners.base import Facts, Tuner


def build(
    facts: Facts, *, trials: int = 10, searched: Sequence[str] = (Kind.MODEL, Kind.TRAINING)
) -> Tuner:
    """Return the tuner of so many `trials`."""
    made = hyperband.build(facts, searched=searched)
    return replace(made, brackets=[(Rung(trials, made.fidelity.levels),)])
