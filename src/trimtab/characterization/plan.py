"""Which runs a characterization consists of, in which order, and how long they will take.

One parameter at a time is varied around the defaults; what is varied together is drawn later
(`joint.py`), when it is known which parameters matter.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.config.groups.learning.characterization import PLATFORM_DEFAULTS, Characterization
from trimtab.config.groups.learning.workload import LearningWorkload

Row = Mapping[str, Any]  # of the table of runs
Key = tuple[str, str, str, int]
KEY = ("workload", "phase", "settings", "repeat")  # the columns that tell a run from all others
SessionKey = tuple[int, str]


@dataclass(frozen=True)
class Run:
    """One run of a workload; `platform` and `hyperparameters` hold all parameters, by name."""

    workload: LearningWorkload
    phase: str
    platform: Mapping[str, Any]
    hyperparameters: Mapping[str, Any]
    varied: tuple[str, ...]
    repeat: int

    @property
    def settings(self) -> str:
        """All of its parameters, as the table of runs has them."""
        return json.dumps({**self.platform, **self.hyperparameters}, sort_keys=True)

    @property
    def key(self) -> Key:
        """What tells it from all other runs of a characterization."""
        return self.workload.name, self.phase, self.settings, self.repeat

    @property
    def session(self) -> SessionKey:
        """Its repeat and its platform: runs with the same ones share a session of Spark."""
        return self.repeat, json.dumps(self.platform, sort_keys=True)


def key_of(row: Row) -> Key:
    """Return the key of the run that a row is of."""
    return row["workload"], row["phase"], row["settings"], row["repeat"]


class CharacterizationSpace:
    """The levels of all parameters of a characterization, and the runs that try them."""

    def __init__(self, asked: Characterization, workloads: Sequence[LearningWorkload]) -> None:
        self.workloads = workloads
        self.platform_levels = asked.platform
        self._asked = asked
        self._platform = {**PLATFORM_DEFAULTS, **_firsts(asked.platform)}

    def hyperparameter_levels(self, workload: LearningWorkload) -> Mapping[str, Sequence[Any]]:
        """Return the levels of a workload's hyperparameters, by name, the defaults first."""
        return self._asked.hyperparameters.get(workload.method, {})

    def defaults(self) -> list[Run]:
        """Return the runs in which nothing is varied."""
        return [run for workload in self.workloads for run in self.runs(workload, "defaults", {})]

    def one_at_a_time(self) -> list[Run]:
        """Return the runs in which one parameter differs from its default."""
        found: list[Run] = []
        for workload in self.workloads:
            of_phase = {
                "platform": self.platform_levels,
                "hyper": self.hyperparameter_levels(workload),
            }
            for phase, levels in of_phase.items():
                for name, (_, *others) in levels.items():
                    for level in others:
                        found += self.runs(workload, phase, {name: level})
        return found

    def runs(
        self, workload: LearningWorkload, phase: str, values: Mapping[str, Any]
    ) -> Iterator[Run]:
        """Yield the repeats of a run with `values` in place of the defaults."""
        of_method = self.hyperparameter_levels(workload)
        hyperparameters = {**workload.method.hyperparameters, **_firsts(of_method)}
        defaults = {**self._platform, **hyperparameters}
        varied = tuple(sorted(name for name in values if values[name] != defaults[name]))
        for repeat in range(self._asked.repeats):
            yield Run(
                workload,
                phase,
                {name: values.get(name, level) for name, level in self._platform.items()},
                {name: values.get(name, level) for name, level in hyperparameters.items()},
                varied,
                repeat,
            )


def ordered(runs: Iterable[Run], running: SessionKey | None = None) -> list[Run]:
    """Return runs in the order in which they are carried out, each once.

    All of the first repeat come first, so that the times of repeats hold what changes slowly on the
    machine; in each repeat, those that share a session of Spark come together. Before all come
    those that share the one that is running.
    """
    by_key = {run.key: run for run in runs}
    return sorted(by_key.values(), key=lambda run: (run.session != running, run.session))


def sessions(runs: Iterable[Run], running: SessionKey | None = None) -> int:
    """Return how many sessions of Spark are started for runs in their order."""
    every = [run.session for run in runs]
    return sum(before != after for before, after in zip([running, *every], every, strict=False))


@dataclass(frozen=True)
class RemainingTime:
    """What runs that are still to come will take.

    `predicted_s` is None until each workload has run with the defaults, well or not: each run is
    taken to be as long as these, warm-up runs included.
    """

    runs: int
    sessions: int
    predicted_s: float | None

    def __str__(self) -> str:
        text = f"{self.runs} runs in {self.sessions} sessions of Spark"
        return (
            text if self.predicted_s is None else f"{text}, about {self.predicted_s / 60:.1f} min"
        )


def cost(
    runs: Sequence[Run],
    done: Iterable[Row],
    warm_up_runs: int,
    start_s: float,
    running: SessionKey | None = None,
) -> RemainingTime:
    """Return what `runs`, in their order, will take; a session starts in `start_s`.

    The one that is running has warmed up.
    """
    walls: dict[str, list[float]] = {}
    for row in done:
        if row["phase"] == "defaults":
            walls.setdefault(row["workload"], []).append(row["wall_s"])
    number = sessions(runs, running)
    if any(run.workload.name not in walls for run in runs):
        return RemainingTime(len(runs), number, None)
    mean_s = {name: sum(each) / len(each) for name, each in walls.items()}
    warm_ups = {(run.session, run.workload.name) for run in runs if run.session != running}
    predicted_s = sum(mean_s[run.workload.name] for run in runs)
    predicted_s += warm_up_runs * sum(mean_s[name] for _, name in warm_ups)
    return RemainingTime(len(runs), number, predicted_s + number * start_s)


def _firsts(levels: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: each[0] for name, each in levels.items()}
