"""Tasks to search on without training anything: surrogates of recorded trainings (YAHPO Gym).

A task is a model that says what a configuration comes to on a budget: of LCBench (34 data sets,
networks trained for up to 52 epochs) and of rbv2_rpart (trees fitted to a share of the data).
Work is counted in full trainings, for all methods alike: `Trainer` keeps a checkpoint of every
configuration, so that one who trains the same configuration on, as a promoted one is, pays for the
missing epochs alone. Fitting a tree to more data is work from its beginning.
"""

import json
import math
import random
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

Configuration = dict[str, Any]


class SpentError(Exception):
    """The budget has no room for the training that was asked for."""


@dataclass(frozen=True)
class Parameter:
    """A hyperparameter: a range, whole or not, linear or logarithmic, or choices."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    def drawn(self, rng: random.Random) -> Any:
        """Return a value drawn evenly, or log-evenly."""
        if self.choices:
            return rng.choice(self.choices)
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        if self.log:
            value = math.exp(rng.uniform(math.log(low), math.log(high)))
        else:
            value = rng.uniform(low, high)
        return min(max(round(value), int(self.low)), int(self.high)) if self.whole else value


@dataclass(frozen=True)
class Family:
    """One surrogate: which inputs it takes, in which order, and what grows with the budget.

    A level is the unit in which budgets are counted; `levels` of them are a full training.
    """

    name: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    instance: str
    fidelity: str
    levels: int
    score: int  # the column of the outputs, in per cent or a share; more is better
    resumes: bool
    fixed: tuple[tuple[str, float], ...] = ()

    def fidelity_at(self, level: int) -> float:
        """Return the input that stands for a level."""
        return float(level) if self.resumes else level / self.levels


LCBENCH = Family(
    "lcbench",
    ("epoch", "batch_size", "learning_rate", "momentum", "weight_decay", "num_layers",
     "max_units", "max_dropout"),
    ("OpenML_task_id",), "OpenML_task_id", "epoch", 52, 1, True,
)  # fmt: skip
RPART = Family(
    "rbv2_rpart",
    ("cp", "maxdepth", "minbucket", "minsplit", "trainsize", "repl"),
    ("task_id", "num.impute.selected.cpo"), "task_id", "trainsize", 27, 0, False,
    (("repl", 10.0),),
)  # fmt: skip
FAMILIES = {family.name: family for family in (LCBENCH, RPART)}


class Task:
    """One data set of a family."""

    def __init__(self, family: Family, folder: Path, instance: str) -> None:
        self.family, self.name = family, f"{family.name}/{instance}"
        self._model, self._codes, spaces = _read(folder / family.name)
        self.levels = family.levels
        skipped = {family.instance, family.fidelity, *dict(family.fixed)}
        self.parameters = [
            Parameter(
                one["name"],
                one.get("lower", 0.0),
                one.get("upper", 0.0),
                one.get("log", False),
                one["type"] == "uniform_int",
                tuple(one.get("choices", ())),
            )
            for one in spaces
            if one["name"] not in skipped
        ]
        self._instance = instance

    def drawn(self, rng: random.Random) -> Configuration:
        """Return a configuration at random."""
        return {one.name: one.drawn(rng) for one in self.parameters}

    def scores(self, configurations: list[Configuration], levels: list[int]) -> list[float]:
        """Return what each configuration comes to on its level."""
        family = self.family
        numbers, categories = [], []
        for configuration, level in zip(configurations, levels, strict=True):
            given = {
                **configuration,
                **dict(family.fixed),
                family.fidelity: family.fidelity_at(level),
                family.instance: self._instance,
            }
            numbers.append([float(given[name]) for name in family.numbers])
            categories.append([self._codes[name][given[name]] for name in family.categories])
        found = self._model.run(
            None,
            {
                "x_cont": np.array(numbers, np.float32),
                "x_cat": np.array(categories, np.int32),
            },
        )[0][:, family.score]
        return [float(value) for value in found]


def tasks_of(family: Family, folder: Path, every: int = 1) -> list[Task]:
    """Return the tasks of a family, or one in `every`."""
    _, _, spaces = _read(folder / family.name)
    choices = next(one["choices"] for one in spaces if one["name"] == family.instance)
    return [Task(family, folder, instance) for instance in choices[::every]]


@dataclass
class Trainer:
    """Trains configurations of a task within a budget, in levels, and keeps account.

    `trace` has, for every new best fully trained configuration, the work by then and its score.
    """

    task: Task
    budget: int
    spent: int = 0
    best: float = -math.inf
    trace: list[tuple[int, float]] = field(default_factory=list)
    _curves: dict[tuple[Any, ...], list[float]] = field(default_factory=dict)
    _trained: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def train(self, configuration: Configuration, level: float) -> float:
        """Return the score on a level, rounded to a whole one; raises SpentError."""
        until = min(max(round(level), 1), self.task.levels)
        key = tuple(configuration[one.name] for one in self.task.parameters)
        before = self._trained.get(key, 0) if self.task.family.resumes else 0
        work = max(0, until - before)
        if self.spent + work > self.budget:
            self.spent = self.budget
            raise SpentError
        self.spent += work
        self._trained[key] = max(until, before)
        if key not in self._curves:
            levels = list(range(1, self.task.levels + 1))
            self._curves[key] = self.task.scores([configuration] * len(levels), levels)
        score = self._curves[key][until - 1]
        if until == self.task.levels and score > self.best:
            self.best = score
            self.trace.append((self.spent, score))
        return score


@cache
def _read(folder: Path) -> tuple[Any, dict[str, dict[str, int]], list[dict[str, Any]]]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = onnxruntime.InferenceSession(str(folder / "model.onnx"), options)
    codes = json.loads((folder / "encoding.json").read_text())
    return model, codes, json.loads((folder / "config_space.json").read_text())["hyperparameters"]
