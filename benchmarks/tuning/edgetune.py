"""EdgeTune: budgets of epochs, of data and of both; and the whole of it beside its baseline.

    python benchmarks/tuning/edgetune.py budgets             # over trajectories.py's table
    python benchmarks/tuning/edgetune.py objectives          # likewise
    python benchmarks/tuning/edgetune.py baseline --seeds 5  # as root, who may give it priority
    python benchmarks/tuning/edgetune.py table

`budgets` runs the project's own HyperBand over what trials were measured to come to and to cost:
the same configurations in the same order for each kind of budget, as many searches after the other
as it takes until a trial's accuracy on the test split, which no search sees, is at the target.
`objectives` goes through one search of all brackets each, by the kind of budget and the objective:
accuracy, as the baseline's, or training time times inference time by accuracy, of which the second
is the same for all that are searched here. Configurations are drawn at random in both: what TPE
adds is not in it, and nor are the start of processes and the measuring of inference.
`baseline` runs searches for real: EdgeTune as conf/tuner/edgetune.yaml has it, for the objective of
time, and its baseline of the thesis (section 7.5.2), which tunes hyperparameters by accuracy over
epochs. Both have the same brackets, seeds and machine. Energy is modelled where nothing measures.

A bar is reached where the upper end of the 95 % interval of the median ratio is at or below it, of
5 pairs or more.
"""

import argparse
import itertools
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))
import trajectories
from common import load, save, spread
from priority import prefer

from trimtab.config import Configurations
from trimtab.config.groups.tuning import DataFraction, EpochRange
from trimtab.profiling.meters.power_model import modelled_energy_j
from trimtab.profiling.profile import model_of
from trimtab.records.tuning.inference import KnownInferenceRecord, MeasuredInference
from trimtab.tuning.fidelity import BudgetKind
from trimtab.tuning.hyperband import HyperBand, RungJob
from trimtab.tuning.plan import RungResult
from trimtab.tuning.tune import Request, tune

ROOT = Path(__file__).parents[2]
SEARCHES, MOST_ITERATIONS, RESAMPLES = 4000, 20, 2000
TARGETS = (0.95, 0.97, 0.99)  # shares of the best test accuracy of all that was trained
BUDGETS_BAR, TIME_BAR, ENERGY_BAR = 0.80, 0.82, 0.75
LEVELS = trajectories.LEVELS
_FEWEST_PAIRS = 5  # for a verdict


def main() -> None:
    """Run one part, or print the table of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("budgets", "objectives", "baseline", "table"))
    parser.add_argument("--seeds", type=int, default=5, help="of `baseline`")
    parser.add_argument("--seconds", type=float, default=900.0, help="begin no more seeds after")
    given = parser.parse_args()
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "budgets": budgets,
        "objectives": objectives,
        "baseline": lambda: baseline(given.seeds, given.seconds),
    }
    new = {given.part: parts[given.part]()} if given.part in parts else {}
    earlier = load("tuning_edgetune") or {}  # now, as another part may have ended meanwhile
    figures = {name: one for name, one in {**earlier, **new}.items() if name in parts}
    if new:
        save("tuning_edgetune", figures)
    print(table(figures))


def budgets() -> dict[str, Any]:
    """Return the work until each target of each workload, by the kind of budget."""
    everything = trajectories.load()
    found: dict[str, Any] = {}
    for workload, rows in everything.groupby("workload"):
        best = rows["test_accuracy"].max()
        tables = {kind: Table(rows[rows["budget"] == kind.value]) for kind in BudgetKind}
        searches = {
            kind: [list(searched(tables[kind], seed)) for seed in range(SEARCHES)]
            for kind in BudgetKind
        }
        found[str(workload)] = {
            "configurations": int(rows["configuration"].nunique()),
            "best_test_accuracy": best,
            "targets": [at_target(searches, share * best, share) for share in TARGETS],
        }
    return found


@dataclass(frozen=True)
class Rung:
    """What a configuration comes to on a rung, and the processor's time of it and of all before."""

    accuracy: float
    test_accuracy: float
    rung_cpu_s: float
    training_cpu_s: float


class Table:
    """The rungs of all configurations, for one kind of budget."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.configurations = sorted(rows["configuration"].unique().tolist())
        self._found = {
            (one.configuration, one.bracket, one.rung): Rung(
                one.accuracy, one.test_accuracy, one.rung_cpu_s, one.training_cpu_s
            )
            for one in rows.itertuples()
        }

    def of(self, configuration: int, bracket: int, rung: int) -> Rung:
        """Return what a configuration comes to on a rung of a bracket."""
        return self._found[configuration, bracket, rung]


def by_accuracy(rung: Rung) -> float:
    """Score as conf/objective/accuracy.yaml."""
    return rung.accuracy


def by_time(rung: Rung) -> float:
    """Score as conf/objective/time_by_accuracy.yaml, of trials whose inference costs the same."""
    return -rung.training_cpu_s / rung.accuracy


def visited(
    table: Table, generator: random.Random, score: Callable[[Rung], float] = by_accuracy
) -> Iterator[tuple[RungJob, Rung]]:
    """Yield what HyperBand trains in one search of all brackets, one after the other."""
    scheduler = HyperBand(trajectories.BRACKETS, trajectories.REDUCTION)
    trials, order = list[int](), list[int]()
    while (job := scheduler.next_job()) is not None:
        trial = len(trials) if job.trial is None else job.trial
        if job.trial is None:
            order = order or generator.sample(table.configurations, len(table.configurations))
            trials.append(order.pop())
        scheduler.start(job, trial)
        rung = table.of(trials[trial], job.bracket, job.rung)
        yield job, rung
        scheduler.report(trial, score(rung))


def searched(table: Table, seed: int) -> Iterator[tuple[float, float]]:
    """Yield the test accuracy and the work in s after each trial on a rung, search after search."""
    generator, work_s = random.Random(seed), 0.0
    for _ in range(MOST_ITERATIONS):
        for _, rung in visited(table, generator):
            work_s += rung.rung_cpu_s
            yield rung.test_accuracy, work_s


def objectives() -> dict[str, Any]:
    """Return what one search costs and finds, by the kind of budget and the objective."""
    found: dict[str, Any] = {}
    for workload, rows in trajectories.load().groupby("workload"):
        ends: dict[str, list[tuple[float, Rung]]] = {}
        for kind, score in itertools.product(BudgetKind, (by_accuracy, by_time)):
            table = Table(rows[rows["budget"] == kind.value])
            ends[f"{kind.value}, {score.__name__}"] = [
                end_of(table, seed, score) for seed in range(SEARCHES)
            ]
        theirs = ends["epochs, by_accuracy"]
        found[str(workload)] = {
            name: {
                "work_s": statistics.median(work_s for work_s, _ in each),
                "test_accuracy": statistics.median(best.test_accuracy for _, best in each),
                "training_s": statistics.median(best.training_cpu_s for _, best in each),
                "ratio": with_interval(
                    [ours / other for (ours, _), (other, _) in zip(each, theirs, strict=True)]
                ),
            }
            for name, each in ends.items()
        }
    return found


def end_of(table: Table, seed: int, score: Callable[[Rung], float]) -> tuple[float, Rung]:
    """Return the work of one search, and the best of its largest budget."""
    every = list(visited(table, random.Random(seed), score))
    last = [rung for job, rung in every if job.rung == len(trajectories.BRACKETS[job.bracket]) - 1]
    return sum(rung.rung_cpu_s for _, rung in every), max(last, key=score)


def at_target(
    searches: dict[BudgetKind, list[list[tuple[float, float]]]], target: float, share: float
) -> dict[str, Any]:
    """Return when searches reach a target, and both growing against the better of the others."""
    work_s = {kind: [until(one, target) for one in each] for kind, each in searches.items()}
    medians = {kind: statistics.median(each) for kind, each in work_s.items()}
    other = min((BudgetKind.EPOCHS, BudgetKind.DATA), key=lambda kind: medians[kind])
    pairs = list(zip(work_s[BudgetKind.BOTH], work_s[other], strict=True))
    ratios = [both / least for both, least in pairs if least < float("inf")]
    return {
        "share_of_best": share,
        "test_accuracy": target,
        "better_of_both": other.value,
        "ratio": with_interval(ratios) if len(ratios) == len(pairs) else None,
        "kinds": {
            kind.value: {
                "reached": sum(value < float("inf") for value in each) / len(each),
                "work_s": None if medians[kind] == float("inf") else medians[kind],
            }
            for kind, each in work_s.items()
        },
    }


def until(one: list[tuple[float, float]], target: float) -> float:
    """Return the work after which a search has reached the target; infinite where it never has."""
    return next((work_s for accuracy, work_s in one if accuracy >= target), float("inf"))


def with_interval(ratios: Sequence[float]) -> dict[str, float]:
    """Return the median of ratios and its bootstrap interval of 95 %."""
    values, generator = np.asarray(ratios), np.random.default_rng(0)
    again = np.median(generator.choice(values, (RESAMPLES, len(values))), axis=1)
    low, high = np.quantile(again, [0.025, 0.975])
    ends = {"median": float(np.median(values)), "low": float(low), "high": float(high)}
    return {**ends, "pairs": len(values)}


def baseline(seeds: int, seconds: float) -> dict[str, Any]:
    """Return what both searches took for real, seed after seed in turn."""
    threading.Thread(target=prefer_all, daemon=True).start()
    load_average, began = os.getloadavg()[0], time.monotonic()
    made: dict[str, Callable[[], Request]] = {
        "bohb": lambda: request("bohb", "accuracy"),
        "edgetune": lambda: request("edgetune", "time_by_accuracy"),
    }
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in made}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, seeds + 1):
            if time.monotonic() - began > seconds:
                break
            for name in sorted(made, reverse=bool(seed % 2)):
                one = timed(made[name](), seed, Path(folder) / f"{name}_{seed}")
                found[name].append({"seed": seed, **one})
                print(name, found[name][-1], flush=True)
    pairs = list(zip(found["edgetune"], found["bohb"], strict=True))
    ratios = {
        name: with_interval([ours[name] / theirs[name] for ours, theirs in pairs])
        for name in ("wall_s", "cpu_s", "energy_j", "training_s")
    }
    for name in ("inference_s", "inference_j"):
        ratios[name] = with_interval([one[name] / one[f"untuned_{name}"] for one, _ in pairs])
    return {"load": load_average, "ratios": ratios, "searches": found}


def request(tuner: str, objective: str) -> Request:
    """Return what is asked for: LeNet5 with as many levels of epochs as of data."""
    conf = Configurations(ROOT / "conf", ["experiment=tune_quick"])
    workload = conf.option("workload", "lenet5_train")
    twin = conf.inference_workload("lenet5_train")
    tuning = replace(
        workload.tuning, epochs=EpochRange(3, 3 * LEVELS), data_fraction=DataFraction(1 / LEVELS)
    )
    here = {"python": sys.executable, "workdir": str(ROOT)}
    environment = {"PYTHONPATH": str(ROOT / "src")}
    assert twin is not None
    return Request(
        replace(workload, **here, env={**workload.env, **environment}, tuning=tuning),
        conf.option("tuner", tuner),
        conf.option("objective", objective),
        model_of(conf.option("hardware", "this_machine")),
        inference_workload=replace(twin, **here, env={**twin.env, **environment}),
    )


def timed(asked: Request, seed: int, folder: Path) -> dict[str, Any]:
    """Search once, and return what that took and came to; nothing is known from earlier searches.

    Energy is that of the whole search by the power model: trials, inference, and the tuner itself.
    """
    results = list[RungResult]()
    before, began = os.times(), time.perf_counter()
    tune(asked, [seed], folder, folder / "truth.json", lambda _, fold, one: results.append(one))
    wall_s, after = time.perf_counter() - began, os.times()
    cpu_s = sum(after[:4]) - sum(before[:4])
    longest = max(one.budget for one in results)
    scored = [one for one in results if one.budget == longest and isinstance(one.result, float)]
    best = max(scored, key=lambda one: one.result if isinstance(one.result, float) else 0.0)
    inference = {}
    if (known := folder / "known_inference.json").exists():
        names = ("inference_s", "inference_j")
        inference = {name: best.metrics[name] for name in names}
        untuned = as_by_default(KnownInferenceRecord.read(known), asked)
        inference |= {f"untuned_{name}": getattr(untuned, name) for name in names}
        inference["inference"] = yaml.safe_load((folder / "inference.yaml").read_text())
    training_s = sum(one.training_s for one in last_of_each(results))
    shutil.rmtree(folder)
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "energy_j": modelled_energy_j(
            asked.hardware, wall_s=wall_s, cpu_s=cpu_s, resident_byte_s=0.0,
            cores_usable=asked.hardware.cores,
        ),
        "training_s": training_s,
        "test_accuracy": best.metrics["test_accuracy"],
        "configuration": best.configuration,
        **inference,
    }  # fmt: skip


def as_by_default(known: KnownInferenceRecord, asked: Request) -> MeasuredInference:
    """Return what was measured of LeNet5's inference as the space has it by default."""
    default = {name: one.default for name, one in asked.tuning.inference.items()}
    (architecture,) = known.architectures
    return next(one for one in architecture.measured if one.configuration == default)


def last_of_each(results: list[RungResult]) -> list[RungResult]:
    """Return each trial's last rung, whose `training_s` is of all of its epochs."""
    return list({one.trial: one for one in results}.values())


def prefer_all() -> None:
    """Let the kernel prefer every process that this one starts, as soon as it is seen."""
    known = set[int]()
    while True:
        for pid in descendants(os.getpid()):
            if pid not in known:
                known.add(pid)
                with suppress(OSError):  # it has ended
                    prefer(pid)
        time.sleep(0.05)


def descendants(pid: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from descendants(int(child))


def table(figures: dict[str, Any]) -> str:
    """Return the rows of what was measured, as Markdown."""
    lines = ["| what | median ratio | 95 % | bar | verdict |", "|---|---|---|---|---|"]
    for workload, found in figures.get("budgets", {}).items():
        for one in found["targets"]:
            kinds = {
                name: f"{each['work_s']:.3g} s" if each["work_s"] else "never"
                for name, each in one["kinds"].items()
            }
            said = ", ".join(f"{name} {value}" for name, value in kinds.items())
            what = f"{workload} to {one['test_accuracy']:.3f}: {said}"
            lines.append(row(what, one["ratio"], BUDGETS_BAR))
    for workload, cells in figures.get("objectives", {}).items():
        for name, one in cells.items():
            bar = TIME_BAR if name == "both, by_time" else None
            what = (
                f"{workload}, a search by {name}: {one['work_s']:.1f} s, its best"
                f" {one['test_accuracy']:.4f} in {one['training_s']:.2f} s"
            )
            lines.append(row(what, one["ratio"], bar))
    whole = figures.get("baseline", {})
    bars = {"wall_s": TIME_BAR, "energy_j": ENERGY_BAR}
    for name, ratio in whole.get("ratios", {}).items():
        lines.append(row(f"EdgeTune by its baseline: {name}", ratio, bars.get(name)))
    for name, each in whole.get("searches", {}).items():
        accuracies = spread([one["test_accuracy"] for one in each])
        lines.append(f"| {name}: test accuracy of its best | {accuracies['median']:.4f} |"
                     f" {accuracies['low']:.4f} to {accuracies['high']:.4f} | | |")  # fmt: skip
    return "\n".join(lines)


def row(what: str, ratio: dict[str, float] | None, bar: float | None) -> str:
    """Return a line of the table, with the verdict by the rule of this file."""
    if ratio is None:
        return f"| {what} | | | {bar} | not comparable: not all searches arrive |"
    verdict = "" if bar is None else "reached" if ratio["high"] <= bar else "missed"
    if bar is not None and ratio["pairs"] < _FEWEST_PAIRS:
        verdict = f"none: {ratio['pairs']:g} pairs"
    said = f"{ratio['median']:.2f} | {ratio['low']:.2f} to {ratio['high']:.2f}"
    return f"| {what} | {said} | {bar or ''} | {verdict} |"


if __name__ == "__main__":
    main()
