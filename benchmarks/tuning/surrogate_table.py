"""The verdict on searches over surrogates: regrets, differences with intervals, one results file.

Ours is compared with each peer on the tasks and seeds that both have. The difference is that of the
median regrets over tasks (of each task the mean of its seeds); its interval is of 10,000 samples of
the tasks with replacement, 95 %. One that spans 0 is no difference.
"""

import random
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, load, save
from surrogate_tasks import FAMILIES, Task, tasks_of

RANDOM = 20_000
SAMPLES = 10_000
LEAST_SEEDS = 5  # below, what is here is not the measurement yet
OURS = "ours:halving=9"  # as in conf/tuner/halving.yaml
Regrets = Mapping[tuple[str, int], float]  # of task and seed


def write_table(data: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Judge all runs, save them and print a table."""
    figures: dict[str, object] = {"random_configurations": RANDOM, "ours": OURS}
    for family in FAMILIES.values():
        mine = [row for row in rows if row["task"].startswith(family.name)]
        if mine:
            figures[family.name] = judged(mine, tasks_of(family, data))
    save("tuning_surrogates", figures)
    print(f"{RESULTS / 'tuning_surrogates.json'}")
    for name, budgets in (load("tuning_surrogates") or {}).items():
        if isinstance(budgets, dict):
            print("\n".join(lines(name, budgets)))


def judged(rows: Sequence[Mapping[str, Any]], tasks: Sequence[Task]) -> dict[str, object]:
    """Return for each budget and method what its regrets are, and how ours compares."""
    ranges = {task.name: known(task, rows) for task in tasks}
    halves = [task.name for task in tasks[::2]], [task.name for task in tasks[1::2]]
    found: dict[str, object] = {}
    for budget in sorted({row["budget"] for row in rows}):
        regrets: dict[str, dict[tuple[str, int], float]] = {}
        cpu_s: dict[str, list[float]] = {}
        for row in rows:
            if row["budget"] == budget:
                low, high = ranges[row["task"]]
                regret = min(1.0, (high - row["best"]) / (high - low))  # 1: none was trained fully
                regrets.setdefault(row["method"], {})[row["task"], row["seed"]] = regret
                cpu_s.setdefault(row["method"], []).append(row["cpu_s"])
        found[f"{budget} full trainings"] = {
            method: {
                "runs": len(own),
                "complete": len(own) >= LEAST_SEEDS * len(tasks),
                "tasks": len({task for task, _ in own}),
                "seeds": len({seed for _, seed in own}),
                "median_regret": median(own),
                "interval": interval([own]),
                "median_regret_chosen_on": median(own, halves[0]),
                "median_regret_other_half": median(own, halves[1]),
                "cpu_s_a_run": float(np.mean(cpu_s[method])),
                "ours_less_this": None if method == OURS else against(regrets.get(OURS, {}), own),
            }
            for method, own in sorted(regrets.items())
        }
    return found


def known(task: Task, rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the worst and the best score that are known of full trainings."""
    rng = random.Random(task.name)
    drawn = task.scores([task.drawn(rng) for _ in range(RANDOM)], [task.levels] * RANDOM)
    return min(drawn), max([*drawn, *(row["best"] for row in rows if row["task"] == task.name)])


def by_task(regrets: Regrets) -> dict[str, float]:
    """Return the mean regret of each task."""
    seeds: dict[str, list[float]] = {}
    for (task, _), regret in regrets.items():
        seeds.setdefault(task, []).append(regret)
    return {task: float(np.mean(each)) for task, each in seeds.items()}


def median(regrets: Regrets, tasks: Sequence[str] | None = None) -> float | None:
    """Return the median over all tasks, or over some."""
    each = [mean for task, mean in by_task(regrets).items() if tasks is None or task in tasks]
    return float(np.median(each)) if each else None


def interval(methods: Sequence[Regrets]) -> list[float]:
    """Return the interval of a median, or of the difference of two, over the same tasks."""
    means = [by_task(regrets) for regrets in methods]
    table = np.array([[mean[task] for task in sorted(means[0])] for mean in means])
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, table.shape[1], (SAMPLES, table.shape[1]))
    medians = np.median(table[:, chosen], axis=2)
    found = medians[0] if len(means) == 1 else medians[0] - medians[1]
    return [float(end) for end in np.quantile(found, (0.025, 0.975))]


def against(ours: Regrets, other: Regrets) -> dict[str, object] | None:
    """Return the difference to a peer, below 0 where ours is better, and the verdict."""
    both = sorted(ours.keys() & other.keys())
    if not both:
        return None
    mine, theirs = ({key: regrets[key] for key in both} for regrets in (ours, other))
    low, high = interval([mine, theirs])
    return {
        "runs": len(both),
        "tasks": len({task for task, _ in both}),
        "difference": (median(mine) or 0.0) - (median(theirs) or 0.0),
        "interval": [low, high],
        "verdict": "no difference" if low <= 0 <= high else "better" if high < 0 else "worse",
        "runs_that_ours_wins": float(np.mean([mine[key] < theirs[key] for key in both])),
    }


def lines(family: str, budgets: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Return the table of a family, as Markdown."""
    found = [f"\n| {family} | runs | median regret | chosen on, other half | ours less this |"]
    found.append("|---|---|---|---|---|")
    for budget, methods in budgets.items():
        for method, one in methods.items():
            halves = [one["median_regret_chosen_on"], one["median_regret_other_half"]]
            compared = one["ours_less_this"]
            found.append(
                f"| {method}, {budget} | {one['runs']} on {one['tasks']} tasks | "
                f"{one['median_regret']:.4f} ({one['interval'][0]:.4f} to "
                f"{one['interval'][1]:.4f}) | "
                f"{', '.join('-' if half is None else f'{half:.4f}' for half in halves)} | "
                + (
                    f"{compared['difference']:+.4f} ({compared['interval'][0]:+.4f} to "
                    f"{compared['interval'][1]:+.4f}), {compared['runs']} runs: "
                    f"{compared['verdict']} |"
                    if compared
                    else "|"
                )
            )
    return found


if __name__ == "__main__":
    raise SystemExit("called by surrogates.py table")
