"""What trials of three kinds of budgets come to, trained once each, for searches over them.

    python benchmarks/tuning/trajectories.py      # as root, who may give it priority

A configuration's training depends on the budgets of the rungs that it was on: resumed from one to
the next on a larger share of the data, or from its beginning where no epoch is missing. So for each
of some configurations, drawn at random from the workload's space, every path of rungs is trained
that HyperBand has, by the programs' own model, data, optimiser and splits, in one process and on
one thread. An epoch's cost is the processor's time of its training. A row of
`results/tuning_trajectories.csv` is a configuration at the end of a rung.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, save
from priority import NICENESS, prefer

from trimtab.config import Configurations
from trimtab.config.groups.tuning import Kind
from trimtab.files import atomic_write
from trimtab.tuning.fidelity import Budget, BudgetKind, Fidelity
from trimtab.tuning.hyperband import brackets_of
from trimtab.tuning.samplers import sampler
from trimtab.tuning.space import SearchSpace, suggested
from trimtab.workloads import lenet5
from trimtab.workloads.common.classification import evaluate, labelled, scaled
from trimtab.workloads.data import Samples, Split, digits, mnist

ROOT = Path(__file__).parents[2]
TABLE = RESULTS / "tuning_trajectories.csv"
LEVELS, REDUCTION = 9, 3
FIDELITIES = {kind: Fidelity(kind, 1, LEVELS, 1 / LEVELS) for kind in BudgetKind}
BRACKETS = brackets_of(LEVELS, REDUCTION)
SCHEMA = {
    "workload": "the model and its data",
    "configuration": "its number, from 0",
    "dropout": "of the configuration, as batch_size and learning_rate",
    "batch_size": "",
    "learning_rate": "",
    "budget": "what grows from rung to rung: epochs, data or both",
    "bracket": "the bracket of HyperBand whose rungs it was on, from 0",
    "rung": "",
    "epochs": "of the rung's budget",
    "data_fraction": "",
    "accuracy": "over the validation split, which tuning sees",
    "test_accuracy": "over the test split, which tuning does not see",
    "rung_cpu_s": "processor time of what this rung trained, without evaluation",
    "training_cpu_s": "of all that its checkpoint was trained",
}


def load() -> pd.DataFrame:
    """Return the shipped rows, with the columns of `SCHEMA`."""
    return pd.read_csv(TABLE)


def main() -> None:
    """Train all paths within a time limit, a configuration after the other, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=tuple(DATA), default="lenet5_mnist")
    parser.add_argument("--seconds", type=float, default=360.0, help="begin no more after them")
    given = parser.parse_args()
    prefer(os.getpid())
    torch.set_num_threads(1)
    samples = DATA[given.workload]()
    rows, began, load = list[dict[str, Any]](), time.monotonic(), os.getloadavg()[0]
    earlier = load_others(given.workload)
    for number in range(1000):
        if time.monotonic() - began > given.seconds:
            break
        rows += list(paths(number, drawn(number), samples, given.workload))
        print(f"{number} {time.monotonic() - began:.0f} s {rows[-1]}", flush=True)
    table = pd.concat([earlier, pd.DataFrame(rows, columns=list(SCHEMA))])
    with atomic_write(TABLE) as temporary:
        table.to_csv(temporary, index=False)
    described = {
        "columns": SCHEMA,
        "configurations": table.groupby("workload")["configuration"].nunique().to_dict(),
        "niceness": NICENESS,
        "load": load,
    }
    save("tuning_trajectories", described)


def load_others(workload: str) -> pd.DataFrame:
    """Return the rows of other workloads that are there."""
    if not TABLE.exists():
        return pd.DataFrame(columns=list(SCHEMA))
    table = load()
    return table[table["workload"] != workload]


def drawn(number: int) -> dict[str, Any]:
    """Return a configuration of the space of `lenet5_train`, drawn at random."""
    tuning = Configurations(ROOT / "conf").option("workload", "lenet5_train").tuning
    space = SearchSpace(tuning, [Kind.MODEL, Kind.TRAINING])
    trial = optuna.create_study(sampler=sampler("random", 0, number)).ask()
    full = space.configuration(lambda name: suggested(trial, name, space.distributions[name]), {})
    return {name.partition(".")[2]: value for name, value in full.items()}


def paths(
    number: int, configuration: dict[str, Any], samples: Samples, workload: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a configuration: each kind of budget, each bracket, each rung."""
    reached = Reached(configuration, samples)
    for kind, fidelity in FIDELITIES.items():
        for bracket, rungs in enumerate(BRACKETS):
            path = tuple(fidelity.at(rung.level) for rung in rungs)
            if kind == BudgetKind.EPOCHS:  # the same training, looked at less often
                path = tuple(fidelity.at(rung.level) for rung in BRACKETS[0])
            ends = [reached.at(path[: position + 1]) for position in range(len(path))]
            skipped = len(path) - len(rungs)
            for position, (budget, end) in enumerate(zip(path, ends, strict=True)):
                if position < skipped:
                    continue
                resumed = position > skipped and budget.epochs > path[position - 1].epochs
                before_s = ends[position - 1].cpu_s if resumed else 0.0
                yield {
                    "workload": workload, "configuration": number, **configuration,
                    "budget": kind.value, "bracket": bracket, "rung": position - skipped,
                    "epochs": budget.epochs, "data_fraction": budget.data_fraction,
                    "accuracy": end.accuracy, "test_accuracy": end.test_accuracy,
                    "rung_cpu_s": end.cpu_s - before_s, "training_cpu_s": end.cpu_s,
                }  # fmt: skip


@dataclass(frozen=True)
class End:
    """What a training came to, and the processor's time for all of it."""

    accuracy: float
    test_accuracy: float
    cpu_s: float


class Reached:
    """The ends of a configuration's paths, each trained once."""

    def __init__(self, configuration: dict[str, Any], samples: Samples) -> None:
        self._given = (configuration, samples)
        self._ends: dict[tuple[Budget, ...], End] = {}
        self._live: Training | None = None
        self._live_at: tuple[Budget, ...] = ()

    def at(self, path: tuple[Budget, ...]) -> End:
        """Return what a path of budgets ends with."""
        steps = essential(path)
        if steps not in self._ends:
            before = essential(path[:-1])
            restarts = len(path) > 1 and path[-2].epochs >= path[-1].epochs
            if self._live is None or restarts or self._live_at != before:
                self._live, before = Training(*self._given), ()
            todo = steps if not before else path[-1:]
            trained = before[-1].epochs if before else 0
            for budget in todo:
                self._live.train(budget.epochs - trained, budget.data_fraction)
                trained = budget.epochs
            self._live_at = steps
            accuracies = [self._live.accuracy(split) for split in ("validation", "test")]
            self._ends[steps] = End(*accuracies, self._live.cpu_s)
        return self._ends[steps]


def essential(path: tuple[Budget, ...]) -> tuple[Budget, ...]:
    """Return the steps of a path that decide its end: not those on the same data, or undone."""
    steps = list[Budget]()
    for budget in path:
        if steps and (
            steps[-1].epochs >= budget.epochs or steps[-1].data_fraction == budget.data_fraction
        ):
            steps.pop()
        steps.append(budget)
    return tuple(steps)


class Training:
    """A model that is trained on, as workloads.common.classification trains one."""

    def __init__(self, configuration: dict[str, Any], samples: Samples) -> None:
        torch.manual_seed(0)
        self.training, validation = samples.train.held_out(0)
        self.splits = {"validation": validation, "test": samples.test}
        self.model = lenet5.build(configuration["dropout"])
        self.optimiser = torch.optim.Adam(
            self.model.parameters(), lr=configuration["learning_rate"]
        )
        self.order = torch.Generator().manual_seed(0)
        self.batch_size = configuration["batch_size"]
        self.cpu_s = 0.0

    def train(self, epochs: int, data_fraction: float) -> None:
        """Train so many epochs more on a share of the data."""
        began_s = time.process_time()
        dataset = labelled(self.training.first(round(len(self.training) * data_fraction)))
        for _ in range(epochs):
            self.model.train()
            for inputs, labels in DataLoader(
                dataset, self.batch_size, shuffle=True, generator=self.order
            ):
                self.optimiser.zero_grad()
                loss = nn.functional.cross_entropy(self.model(scaled(inputs)), labels)
                loss.backward()
                self.optimiser.step()
        self.cpu_s += time.process_time() - began_s

    def accuracy(self, split: str) -> float:
        """Return the share of a split that is classified rightly."""
        return evaluate(self.model, self.splits[split], 512, mark=False)[1]


def digits_as_mnist() -> Samples:
    """Return scikit-learn's digits, three times as large, with an edge of two pixels."""
    samples = digits.load(enlarged=3)
    edge = ((0, 0), (0, 0), (2, 2), (2, 2))
    splits = {"train": samples.train, "test": samples.test}
    framed = {name: Split(np.pad(one.inputs, edge), one.labels) for name, one in splits.items()}
    return replace(samples, **framed)


DATA = {"lenet5_mnist": lambda: mnist.load(None, None, None), "lenet5_digits": digits_as_mnist}


if __name__ == "__main__":
    main()
