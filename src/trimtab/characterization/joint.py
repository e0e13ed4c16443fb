"""Joint variation of the parameters that matter, by three strategies.

As in Rocha's thesis, section 5.3.3: platform parameters by their effect on training time and
inference throughput (Figure 5.6), hyperparameters by their effect on quality (Figure 5.7). The
thesis takes parameters whose levels differ by more than a threshold. Here the whole interval of the
difference has to be of medium impact or more, which is less random.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from trimtab.characterization.plan import CharacterizationSpace, Row, Run
from trimtab.config.groups.learning.workload import LearningWorkload
from trimtab.records.characterization.impact import Impact, impacts
from trimtab.records.tables import CHARACTERIZATION_RUNS

_METRICS = {"platform": ("train_s", "inference_records_per_s"), "hyper": ("quality",)}

Levels = Mapping[str, Sequence[Any]]  # of parameters, by name, the defaults first


def joint_runs(space: CharacterizationSpace, done: Sequence[Row], settings: int) -> list[Run]:
    """Return the runs of all workloads with joint variation of the parameters that matter.

    `done` are the rows of the runs with one varied parameter. Each strategy has `settings`
    settings, drawn by the workload's name, or all if there are fewer. A workload without a complete
    default run has none.
    """
    known = impacts(pd.DataFrame(done, columns=CHARACTERIZATION_RUNS.names))
    works = {row["workload"] for row in done if row["phase"] == "defaults" and row["complete"]}
    found: list[Run] = []
    for workload in space.workloads:
        if workload.name not in works:
            continue
        own = [impact for impact in known if impact.workload == workload.name]
        platform = _that_matter(space.platform_levels, own, "platform")
        hyper = _that_matter(space.hyperparameter_levels(workload), own, "hyper")
        for phase, levels in (
            ("platform", platform),
            ("hyper", hyper),
            ("joint", {**platform, **hyper}),
        ):
            for values in _drawn(workload, phase, levels, settings):
                found += space.runs(workload, phase, values)
    return found


def _that_matter(levels: Levels, own: Sequence[Impact], kind: str) -> Levels:
    """Return the levels of the parameters that matter, or else of the likeliest one."""
    of_kind = [each for each in own if each.kind == kind and each.metric in _METRICS[kind]]
    chosen = {impact.parameter for impact in of_kind if impact.matters}
    if of_kind and not chosen:
        chosen = {max(of_kind, key=lambda impact: (impact.least_pct, impact.size_pct)).parameter}
    return {name: each for name, each in levels.items() if name in chosen}


def _drawn(
    workload: LearningWorkload, phase: str, levels: Levels, settings: int
) -> list[dict[str, Any]]:
    """Return distinct combinations of values except the defaults, reproducibly."""
    combinations = math.prod(len(each) for each in levels.values())
    draw = random.Random(f"{workload.name} {phase}")
    numbers = draw.sample(range(1, combinations), min(settings, combinations - 1))
    return [_combination(levels, number) for number in numbers]


def _combination(levels: Levels, number: int) -> dict[str, Any]:
    """Return the combination of a number in mixed radix; 0 has all defaults."""
    values = {}
    for name, each in levels.items():
        number, place = divmod(number, len(each))
        values[name] = each[place]
    return values
