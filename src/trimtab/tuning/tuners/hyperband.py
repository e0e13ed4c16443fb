"""HyperBand over some kinds of parameters: the baselines Tune V1 and Tune V2 of the thesis.

Section 6.4.2: V1 searches only the hyperparameters, under default system parameters; V2 searches
both.
"""

from collections.abc import Sequence

from trimtab.config.groups.tuning import Kind
from trimtab.tuning.fidelity import BudgetKind
from trimtab.tuning.hyperband import brackets_of, repeated_halving, work_epochs
from trimtab.tuning.tuners.base import Tuner, TunerInputs, as_configured, fidelity_of


def build(
    facts: TunerInputs,
    *,
    searched: Sequence[str] = (Kind.MODEL, Kind.TRAINING),
    algorithm: str = "random",
    budget: str = BudgetKind.EPOCHS,
    reduction: int = 3,
    synchronous: bool = True,
    halving: int | None = None,
    score_without_inference: str | None = None,
) -> Tuner:
    """Return the tuner: `searched` kinds by `algorithm`, on budgets in which `budget` grows.

    Each rung promotes one trial in `reduction`. With `halving`, every bracket begins with `halving`
    trials on the smallest budget, repeated for as much training as HyperBand's brackets take.
    `score_without_inference` replaces an objective of inference, which this tuner does not measure.
    Raises ValueError for an invalid argument.
    """
    fidelity = fidelity_of(facts.tuning, BudgetKind(budget))
    brackets = brackets_of(fidelity.levels, reduction)
    if halving is not None:
        brackets = repeated_halving(fidelity, reduction, halving, work_epochs(brackets, fidelity))
    return Tuner(
        searched=[Kind(kind) for kind in searched],
        algorithm=algorithm,
        fidelity=fidelity,
        brackets=brackets,
        reduction=reduction,
        synchronous=synchronous,
        steerer=as_configured,
        score_without_inference=score_without_inference,
    )
