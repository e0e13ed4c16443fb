"""PipeTune: HyperBand over the hyperparameters, and system parameters tuned inside each trial.

Thesis, chapter 6. The settings to probe are all combinations of the `system` parameters' values.
Ranges give their ends and middle; counts give each value if they are few, else powers of two. The
settings with the fewest differences from the defaults come first.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trimtab.config.groups.tuning import Kind
from trimtab.config.parameter import Parameter
from trimtab.errors import UserError
from trimtab.tuning.fidelity import BudgetKind
from trimtab.tuning.space import Configuration, SearchSpace
from trimtab.tuning.system.ground_truth import (
    PUBLISHED_CLUSTERER,
    PUBLISHED_CLUSTERS,
    GroundTruth,
)
from trimtab.tuning.system.probing import ProbingTuner, Shared
from trimtab.tuning.system.shared_truth import known_jobs, share_jobs
from trimtab.tuning.system.system_tuner import Settings, SystemTuner
from trimtab.tuning.tuners import hyperband
from trimtab.tuning.tuners.base import Tuner, TunerInputs, system_of

_FEW = 4


def build(
    facts: TunerInputs,
    *,
    algorithm: str = "random",
    budget: str = BudgetKind.EPOCHS,
    reduction: int = 3,
    synchronous: bool = True,
    clusterer: str = PUBLISHED_CLUSTERER,
    clusters: int | None = PUBLISHED_CLUSTERS,
    tolerance: float = 2.0,
    probing_share: float = 0.5,
) -> Tuner:
    """Return the tuner; `clusterer`, `clusters` and `tolerance` are the ground truth's.

    At most `probing_share` of a trial's epochs are probes. Raises UserError where the workload has
    no `system` parameter, the ground truth is damaged or the clusterer is unknown, and ValueError
    for an invalid share.
    """
    if not facts.tuning.system:
        raise UserError(
            "tuning.system: no parameter to tune inside trials; expected cores, threads or another"
        )
    if not 0 < probing_share <= 1:
        raise ValueError(f"probing_share: {probing_share}, expected above 0 and at most 1")
    file = facts.ground_truth
    truth = GroundTruth(
        known_jobs(file),
        facts.machine,
        clusterer=clusterer,
        clusters=clusters,
        tolerance=tolerance,
    )
    before = frozenset(job.id for job in known_jobs(facts.known_before or file))
    shared = Shared(
        truth, facts.least, probing_share, lambda job: share_jobs(file, [job.record]), before=before
    )

    def steerer(complete: Configuration) -> SystemTuner:
        return ProbingTuner(_candidates(facts, complete), shared)

    made = hyperband.build(
        facts, algorithm=algorithm, budget=budget, reduction=reduction, synchronous=synchronous
    )
    return replace(made, steerer=steerer)


def _candidates(facts: TunerInputs, complete: Configuration) -> list[Settings]:
    """Return the settings to probe that are allowed with the trial's parameters."""
    space, default = SearchSpace(facts.tuning), system_of(complete)
    system = facts.tuning.of_kind(Kind.SYSTEM)
    names = [name for name in system if name in default]
    found: list[Settings] = [default]
    for values in itertools.product(*(_values(system[name]) for name in names)):
        settings = dict(zip(names, values, strict=True))
        full = {f"{Kind.SYSTEM}.{name}": value for name, value in settings.items()}
        enough_cpus = settings.get("cores", 1) <= facts.cpus
        possible = enough_cpus and settings.get("gpus", 0) <= facts.gpus
        if possible and settings not in found and space.allows({**complete, **full}):
            found.append(settings)
    return sorted(found, key=lambda one: sum(one[name] != default[name] for name in names))


def _values(parameter: Parameter) -> Sequence[Any]:
    if parameter.choices is not None:
        return list(parameter.choices)
    assert parameter.low is not None and parameter.high is not None
    low, high = parameter.low, parameter.high
    middle = (low * high) ** 0.5 if parameter.log else (low + high) / 2
    if not parameter.whole:
        return sorted({low, middle, high})
    if high - low < _FEW:
        return range(int(low), int(high) + 1)
    doubled = [1 << power for power in range(int(high).bit_length())]
    return sorted({int(low), *(one for one in doubled if low < one < high), int(high)})
