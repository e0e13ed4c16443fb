"""What is varied together: the parameters that are shown to matter, by three strategies.

As in Rocha's thesis, section 5.3.3: platform parameters by what they do to training time and
inference throughput (Figure 5.6), hyperparameters by what they do to quality (Figure 5.7). The
thesis takes those whose levels differ by more than a threshold; here the whole interval of the
difference has to be of medium impact or more, so that chance decides less.
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
    """Return the runs of all workloads in which parameters that matter are varied together.

    `done` are the rows of the runs with one parameter varied. Of each strategy there are `settings`
    settings, drawn by the workload's name, or all that there are. A workload none of whose default
    runs is complete has none.
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
    """Return the levels of the parameters that matter, or if none does, of the likeliest."""
    of_kind = [each for each in own if each.kind == kind and each.metric in _METRICS[kind]]
    chosen = {impact.parameter for impact in of_kind if impact.matters}
    if of_kind and not chosen:
        chosen = {max(of_kind, key=lambda impact: (impact.least_pct, impact.size_pct)).parameter}
    return {name: each for name, each in levels.items() if name in chosen}


def _drawn(
    workload: LearningWorkload, phase: str, levels: Levels, settings: int
) -> list[dict[str, Any]]:
    """Return different values of parameters, not all of them defaults, always the same ones."""
    combinations = math.prod(len(each) for each in levels.values())
    draw = random.Random(f"{workload.name} {phase}")
    numbers = draw.sample(range(1, combinations), min(settings, combinations - 1))
    return [_combination(levels, number) for number in numbers]


def _combination(levels: Levels, number: int) -> dict[str, Any]:
    """Return the combination with a number in mixed radix: 0 has all defaults."""
    values = {}
    for name, each in levels.items():
        number, place = divmod(number, len(each))
        values[name] = each[place]
    return values
