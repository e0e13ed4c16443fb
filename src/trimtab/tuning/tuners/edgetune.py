"""EdgeTune: hyperparameters and system parameters in one search by the cost of inference.

Thesis, chapter 7. The search is equivalent to BOHB: HyperBand with a tree-structured Parzen
estimator (samplers.py says where they differ), on budgets in which epochs and data grow together.
Beside it, the inference tuning server works on the architecture of every trial. The hierarchical
approach of section 7.4.1 is a baseline: a first search finds the hyperparameters with the best
accuracy, a second one their system parameters.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.tuning.fidelity import BudgetKind
from trimtab.tuning.hyperband import Rung
from trimtab.tuning.inference.plan import InferencePlan
from trimtab.tuning.samplers import check_algorithm
from trimtab.tuning.tuners import hyperband
from trimtab.tuning.tuners.base import Tuner, TunerInputs

Approach = StrEnum("Approach", "ONEFOLD HIERARCHICAL")
_HYPERPARAMETERS = (Kind.MODEL, Kind.TRAINING)


def build(
    facts: TunerInputs,
    *,
    approach: str = Approach.ONEFOLD,
    searched: Sequence[str] = (*_HYPERPARAMETERS, Kind.SYSTEM),
    algorithm: str = "tpe",
    budget: str = BudgetKind.BOTH,
    reduction: int = 3,
    synchronous: bool = True,
    inference_algorithm: str = "tpe",
    inference_configurations: int = 8,
) -> Tuner:
    """Return the tuner: `searched` kinds by `algorithm`, on budgets in which `budget` grows.

    Inference is measured in `inference_configurations` configurations of each architecture, by
    `inference_algorithm`. With the `hierarchical` approach, the second search trains as many
    configurations as the first one has on its first rung, each to the end. Raises UserError where
    the workload has no `inference` parameter or names no inference workload, and ValueError for an
    invalid argument.
    """
    if not facts.tuning.inference or facts.tuning.inference_workload is None:
        raise UserError(
            "tuning.inference, tuning.inference_workload: expected both, the parameters of the"
            " model's use and the workload that uses it"
        )
    check_algorithm(inference_algorithm)
    if inference_configurations < 1:
        raise ValueError(
            f"inference_configurations: {inference_configurations}, expected 1 or more"
        )
    kinds = [Kind(kind) for kind in searched]
    made = hyperband.build(
        facts,
        searched=kinds,
        algorithm=algorithm,
        budget=budget,
        reduction=reduction,
        synchronous=synchronous,
    )
    inference = InferencePlan(inference_algorithm, inference_configurations)
    if Approach(approach) == Approach.ONEFOLD:
        return replace(made, inference=inference)
    first = replace(made, searched=[kind for kind in kinds if kind in _HYPERPARAMETERS])
    second = [kind for kind in kinds if kind not in _HYPERPARAMETERS]
    if not first.searched or not second:
        raise ValueError("searched: expected hyperparameters and `system`, as it is hierarchical")
    rung = Rung(made.brackets[0][0].trials, made.fidelity.levels)
    return replace(made, searched=second, brackets=[(rung,)], inference=inference, first=first)
