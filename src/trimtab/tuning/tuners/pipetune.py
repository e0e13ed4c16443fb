"""PipeTune: HyperBand over the hyperparameters, and system parameters tuned inside each trial.

Thesis, chapter 6. The settings that are probed are all combinations of the `system` parameters'
values, of ranges the ends and the middle; those of the default configuration come first.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trimtab.config.groups.tuning import Kind
from trimtab.config.parameter import Parameter
from trimtab.errors import UserError
from trimtab.records.tuning.ground_truth import GroundTruthRecord
from trimtab.tuning.fidelity import BudgetKind
from trimtab.tuning.ground_truth import PUBLISHED_CLUSTERS, GroundTruth
from trimtab.tuning.probing import SystemTuner
from trimtab.tuning.space import Configuration, Space
from trimtab.tuning.steering import Settings, Steering
from trimtab.tuning.tuners import hyperband
from trimtab.tuning.tuners.base import Facts, Tuner, system_of


def build(
    facts: Facts,
    *,
    algorithm: str = "random",
    budget: str = BudgetKind.EPOCHS,
    reduction: int = 3,
    synchronous: bool = True,
    clusters: int | None = PUBLISHED_CLUSTERS,
    tolerance: float = 2.0,
) -> Tuner:
    """Return the tuner; `clusters` and `tolerance` are the ground truth's.

    Raises UserError where the workload has no `system` parameter, or the ground truth is damaged.
    """
    if not facts.tuning.system:
        raise UserError(
            "tuning.system: no parameter to tune inside trials; expected cores, threads or another"
        )
    file = facts.ground_truth
    jobs = GroundTruthRecord.read(file).jobs if file.exists() else []
    truth = GroundTruth(
        jobs, facts.machine, facts.objective, clusters=clusters, tolerance=tolerance
    )

    def on_probed() -> None:
        others = [job for job in jobs if job not in truth.jobs]
        GroundTruthRecord(jobs=[*others, *truth.jobs]).write(file)

    def steerer(complete: Configuration) -> Steering:
        return SystemTuner(_candidates(facts, complete), truth, on_probed)

    made = hyperband.build(
        facts, algorithm=algorithm, budget=budget, reduction=reduction, synchronous=synchronous
    )
    return replace(made, steerer=steerer)


def _candidates(facts: Facts, complete: Configuration) -> list[Settings]:
    """Return the settings to probe: possible, and allowed beside the trial's parameters."""
    space, default = Space(facts.tuning), system_of(complete)
    system = facts.tuning.of_kind(Kind.SYSTEM)
    names = [name for name in system if name in default]
    found: list[Settings] = [default]
    for values in itertools.product(*(_values(system[name]) for name in names)):
        settings = dict(zip(names, values, strict=True))
        full = {f"{Kind.SYSTEM}.{name}": value for name, value in settings.items()}
        possible = settings.get("cores", 1) <= facts.cpus
        if possible and settings not in found and space.allows({**complete, **full}):
            found.append(settings)
    return found


def _values(parameter: Parameter) -> Sequence[Any]:
    if parameter.choices is not None:
        return list(parameter.choices)
    assert parameter.low is not None and parameter.high is not None
    low, high = parameter.low, parameter.high
    middle = (low * high) ** 0.5 if parameter.log else (low + high) / 2
    if not parameter.whole:
        return sorted({low, middle, high})
    if high - low < 8:
        return range(int(low), int(high) + 1)
    return sorted({int(low), round(middle), int(high)})
