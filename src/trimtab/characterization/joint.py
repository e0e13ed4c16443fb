"""What is varied together: the parameters of high impact, by three strategies at equal budget.

The published thresholds of high impact (Rocha's thesis, sections 5.3.1 and 5.3.2): a platform
parameter whose levels change training time or inference throughput by more than 20 %, and a
hyperparameter whose levels change the model's quality by more than 5 %.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from trimtab.characterization.plan import Row, Run, Space
from trimtab.config.groups.learning.workload import LearningWorkload

_PLATFORM = (("train_s", "inference_records_per_s"), 0.20)
_HYPER = (("quality",), 0.05)


def joint_runs(space: Space, done: Sequence[Row], settings: int) -> list[Run]:
    """Return the runs of all workloads in which parameters of high impact are varied together.

    `done` are the rows of the runs with one parameter varied. Of each strategy there are `settings`
    settings, drawn by the workload's name, or all that there are. A workload none of whose default
    runs is complete has none.
    """
    found: list[Run] = []
    for workload in space.workloads:
        rows = [row for row in done if row["workload"] == workload.name and row["complete"]]
        if all(row["phase"] != "defaults" for row in rows):
            continue
        platform = _of(space.platform_levels, rows, *_PLATFORM)
        hyper = _of(space.hyperparameter_levels(workload), rows, *_HYPER)
        for phase, levels in (
            ("platform", platform),
            ("hyper", hyper),
            ("joint", {**platform, **hyper}),
        ):
            for values in _drawn(workload, phase, levels, settings):
                found += space.runs(workload, phase, values)
    return found


def _of(
    levels: Mapping[str, Sequence[Any]], rows: Sequence[Row], metrics: Sequence[str], least: float
) -> dict[str, Sequence[Any]]:
    """Return the levels of the parameters of high impact, or if none is, of the highest."""
    impacts = {name: max(_change(name, rows, metric) for metric in metrics) for name in levels}
    high = {name for name, impact in impacts.items() if impact > least}
    if not high and impacts:
        high = {max(impacts, key=impacts.__getitem__)}
    return {name: each for name, each in levels.items() if name in high}


def _change(name: str, rows: Iterable[Row], metric: str) -> float:
    """Return how far the best level of a parameter is from its worst, as a share of the worst."""
    by_level: dict[str, list[float]] = {}
    for row in rows:
        value = row[metric]
        if row["varied"] in ("", name) and value is not None:
            level = row["settings"] if row["varied"] else "default"
            by_level.setdefault(level, []).append(value)
    medians = [median(values) for values in by_level.values()]
    if len(medians) < 2 or max(medians) == min(medians):
        return 0.0
    worst = min(abs(value) for value in medians)
    return (max(medians) - min(medians)) / worst if worst > 0 else math.inf


def _drawn(
    workload: LearningWorkload, phase: str, levels: Mapping[str, Sequence[Any]], settings: int
) -> list[dict[str, Any]]:
    """Return different values of parameters, not all of them defaults, always the same ones."""
    combinations = math.prod(len(each) for each in levels.values())
    draw = random.Random(f"{workload.name} {phase}")
    numbers = draw.sample(range(1, combinations), min(settings, combinations - 1))
    return [_combination(levels, number) for number in numbers]


def _combination(levels: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """Return the combination with a number in mixed radix: 0 has all defaults."""
    values = {}
    for name, each in levels.items():
        number, place = divmod(number, len(each))
        values[name] = each[place]
    return values
