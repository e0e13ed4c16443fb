"""The inference tuning server: tunes inference of a model while a trial trains it.

Thesis, sections 7.3.3 and 7.3.4. It measures one configuration after the other, each in its own
process, on CPUs that trials use when nothing is to be measured. A trial is judged once all
configurations of its architecture are measured; later trials of the architecture reuse them.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.files import remove_tree
from trimtab.records.tuning.inference import MeasuredInference
from trimtab.tuning.batching import Scenario
from trimtab.tuning.inference.agenda import Agenda
from trimtab.tuning.inference.choice import Chosen, Setting, Wanted, chosen
from trimtab.tuning.inference.effort import MeasurementCost
from trimtab.tuning.inference.known import KnownInference
from trimtab.tuning.inference.plan import InferencePlan
from trimtab.tuning.inference.suggestions import Suggestions
from trimtab.tuning.samplers import GRID
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study
from trimtab.tuning.trials.events import EndReason

# Measures inference with an architecture and a configuration, on CPUs, in a folder.
Measure = Callable[
    [Mapping[str, Any], Mapping[str, Setting], Sequence[int], Path], MeasuredInference
]


@dataclass(frozen=True)
class InferenceOutcome:
    """The tuned inference of an architecture: the best of `measured` configurations.

    `planned` is their intended number; `best` is None where none could be measured.
    """

    architecture: Mapping[str, Any]
    best: Chosen | None
    measured: int
    planned: int


class InferenceServer:
    """Tunes the `inference` parameters of `tuning` for every trained architecture.

    `architecture` names the `model` parameters that inference depends on. `folder` is for this
    search alone; measurements are kept in `known`. The server wants `cpus` CPUs. `measure` adds its
    cost to `effort`, which can stop it. As a context manager, it waits at the block's end for the
    running measurement; an exception kills that one.
    """

    def __init__(
        self,
        tuning: Tuning,
        architecture: Sequence[str],
        plan: InferencePlan,
        wanted: Wanted,
        scenario: Scenario | None,
        known: KnownInference,
        measure: Measure,
        folder: Path,
        cpus: int,
        seed: int,
        effort: MeasurementCost,
    ) -> None:
        self._tuning, self._names, self._plan = tuning, architecture, plan
        self._wanted, self._scenario = wanted, scenario
        self._known, self._measure = known, measure
        self._folder, self._cpus, self._seed = folder, cpus, seed
        self._effort = effort
        self._space = SearchSpace(tuning, [Kind.INFERENCE])
        countable = self._space.is_countable
        listed = islice(self._space.listed({}), plan.configurations + 1) if countable else ()
        count = len(list(listed))
        self._lists_all = 0 < count <= plan.configurations
        self.planned = count if self._lists_all else plan.configurations
        self._architectures: dict[str, _Architecture] = {}
        self._agenda = Agenda(lambda key: self._architectures[key].is_complete)
        self._changed = threading.Condition()
        self._closing = self._works = False

    def __enter__(self) -> Self:
        remove_tree(self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if kind is not None:  # nobody needs the running measurement
            self._effort.stopped.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._works)

    @property
    def cpus_wanted(self) -> int:
        """The number of CPUs it wants now; 0 where nothing is to be measured."""
        with self._changed:
            return 0 if self._agenda.next() is None else self._cpus

    def work(self, cpus: Sequence[int]) -> None:
        """Measure until nothing is left; binds the calling thread to these CPUs."""
        os.sched_setaffinity(0, cpus)  # of this thread and the processes it starts
        try:
            while (key := self._next()) is not None:
                self._measure_one(key, cpus)
        finally:
            with self._changed:
                self._works = False
                self._changed.notify_all()

    def taken(self) -> tuple[float, float]:
        """Return the seconds and joules of the measurements since the last call."""
        return self._effort.taken()

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Record that a trial has begun: its architecture's inference is tuned from now on."""
        with self._changed:
            self._agenda.started(trial, self._key_of(complete))

    def is_known(self, trial: int) -> bool:
        """Whether `metrics` of a trial would return at once."""
        with self._changed:
            return self._agenda.is_complete(self._agenda.needs(trial))

    def dropped(self, trial: int) -> None:
        """Record that a trial has failed: its metrics will not be asked for."""
        with self._changed:
            self._agenda.dropped(trial)

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """Return the cost of the best inference, or the last failure where all failed.

        Waits for all planned measurements, so all trials of an architecture are judged by the same
        ones. Other methods can be called meanwhile.
        """
        with self._changed:
            key = self._agenda.ended(trial)
            self._changed.wait_for(lambda: self._closing or self._agenda.is_complete(key))
            self._agenda.judged(trial)
            measured = self._architectures[key].measured
            if not self._agenda.is_complete(key):
                return Failure("inference: was not measured before the search ended")
        best = chosen(measured, self._wanted, self._scenario)
        if best is None:
            return Failure(f"inference: {measured[-1].failure}")
        return best.metrics

    def outcome(self, complete: Mapping[str, Any]) -> InferenceOutcome:
        """Return the tuned inference of a configuration's architecture."""
        with self._changed:
            measured = self._architectures[self._key_of(complete)].measured
            return InferenceOutcome(
                self.architecture_of(complete),
                chosen(measured, self._wanted, self._scenario),
                len(measured),
                self.planned,
            )

    def architecture_of(self, complete: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a configuration that its inference depends on."""
        found = {name: complete.get(f"{Kind.MODEL}.{name}") for name in self._names}
        return {name: value for name, value in found.items() if value is not None}

    def _key_of(self, complete: Mapping[str, Any]) -> str:
        architecture = self.architecture_of(complete)
        key = "_".join(f"{name}_{value!r}" for name, value in sorted(architecture.items()))
        if key not in self._architectures:
            known = [one for one in self._known.of(architecture) if self._is_asked_for(one)]
            folder = self._folder / f"architecture_{len(self._architectures)}"
            self._architectures[key] = _Architecture(architecture, folder, known, self.planned)
        return key

    def _is_asked_for(self, measured: MeasuredInference) -> bool:
        """Whether a known configuration is in this search's space."""
        values = {f"{Kind.INFERENCE}.{name}": v for name, v in measured.configuration.items()}
        complete = self._tuning.completed(values)
        asked = {name: v for name, v in complete.items() if name in self._space.names}
        return (
            asked == values
            and all(self._space.parameters[name].takes(value) for name, value in values.items())
            and self._space.allows(values)
        )

    def _next(self) -> str | None:
        with self._changed:
            key = None if self._closing else self._agenda.next()
            self._works = key is not None
            return key

    def _measure_one(self, key: str, cpus: Sequence[int]) -> None:
        """Measure the next configuration of an architecture, or mark it complete."""
        one = self._architectures[key]
        if one.suggestions is None:
            one.suggestions = self._suggestions(one.folder)
        configuration = one.suggestions.next(one.measured)
        if configuration is None:
            with self._changed:
                one.is_complete = True
                self._changed.notify_all()
            return
        folder = one.folder / f"configuration_{len(one.measured)}"
        folder.mkdir(parents=True)
        measured = self._measure(one.parameters, configuration, cpus, folder)
        if not measured.failure:  # failures may be temporary
            self._known.add(one.parameters, measured)
        remove_tree(folder)
        with self._changed:
            one.measured.append(measured)
            # A program that hangs once is likely to hang again.
            hangs = measured.failure.startswith(EndReason.TIMED_OUT)
            one.is_complete = hangs or len(one.measured) >= self.planned
            self._changed.notify_all()

    def _suggestions(self, folder: Path) -> Suggestions:
        algorithm = GRID if self._lists_all else self._plan.algorithm
        folder.mkdir(parents=True)
        study = Study(
            folder / "journal", "inference", self._space, [Kind.INFERENCE], algorithm, self._seed
        )
        return Suggestions(study, self._wanted)


class _Architecture:
    """The inference measurements of one architecture in this search."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        folder: Path,
        measured: list[MeasuredInference],
        planned: int,
    ) -> None:
        self.parameters, self.folder, self.measured = parameters, folder, measured
        self.is_complete = len(measured) >= planned
        self.suggestions: Suggestions | None = None
