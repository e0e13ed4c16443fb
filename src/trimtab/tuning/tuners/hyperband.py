"""HyperBand over some kinds of parameters: the baselines Tune V1 and Tune V2 of the thesis.

Section 6.4.2: V1 searches the hyperparameters alone, under the default system parameters; V2 has
the system parameters among them.
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

    Of a rung one trial in `reduction` goes on. With `halving` every bracket begins with so many
    trials on the smallest budgets, again and again for as much training as HyperBand's brackets
    take. An objective of inference, of which this tuner knows nothing, is replaced by
    `score_without_inference`. Raises ValueError for what is none of these.
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
