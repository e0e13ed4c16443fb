"""The runs of a characterization, their order, and their duration.

One parameter at a time is varied around the defaults. Joint variations are drawn later
(`joint.py`), once the parameters that matter are known.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.config.groups.learning.characterization import PLATFORM_DEFAULTS, Characterization
from trimtab.config.groups.learning.workload import LearningWorkload

Row = Mapping[str, Any]  # a row of the table of runs
Key = tuple[str, str, str, int]
KEY = ("workload", "phase", "settings", "repeat")  # the columns that identify a run
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
        """All its parameters, in the format of the table of runs."""
        return json.dumps({**self.platform, **self.hyperparameters}, sort_keys=True)

    @property
    def key(self) -> Key:
        """Its key among all runs of a characterization."""
        return self.workload.name, self.phase, self.settings, self.repeat

    @property
    def session(self) -> SessionKey:
        """Its repeat and its platform: runs with equal ones share a session of Spark."""
        return self.repeat, json.dumps(self.platform, sort_keys=True)


def key_of(row: Row) -> Key:
    """Return the key of a row's run."""
    return row["workload"], row["phase"], row["settings"], row["repeat"]


class CharacterizationSpace:
    """The levels of all parameters of a characterization, and their runs."""

    def __init__(self, asked: Characterization, workloads: Sequence[LearningWorkload]) -> None:
        self.workloads = workloads
        self.platform_levels = asked.platform
        self._asked = asked
        self._platform = {**PLATFORM_DEFAULTS, **_firsts(asked.platform)}

    def hyperparameter_levels(self, workload: LearningWorkload) -> Mapping[str, Sequence[Any]]:
        """Return the levels of a workload's hyperparameters, by name, the defaults first."""
        return self._asked.hyperparameters.get(workload.method, {})

    def defaults(self) -> list[Run]:
        """Return the runs with defaults only."""
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
    """Return runs in the order of execution, each once.

    Runs are ordered by repeat, so the differences of repeats include slow changes of the machine.
    Within a repeat, runs that share a session of Spark are together. Runs in the `running` session
    come first.
    """
    by_key = {run.key: run for run in runs}
    return sorted(by_key.values(), key=lambda run: (run.session != running, run.session))


def sessions(runs: Iterable[Run], running: SessionKey | None = None) -> int:
    """Return the number of sessions of Spark to start for runs in their order."""
    every = [run.session for run in runs]
    return sum(before != after for before, after in zip([running, *every], every, strict=False))


@dataclass(frozen=True)
class RemainingTime:
    """The estimated duration of remaining runs.

    `predicted_s` is None until each workload has run with the defaults, successfully or not. Each
    run is assumed to take as long as these, including warm-up runs.
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
    """Return the duration of `runs`, in their order; starting a session takes `start_s`.

    The running session is warmed up.
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
