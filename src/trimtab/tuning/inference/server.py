"""The inference tuning server: tunes how a model is used while a trial trains it.

Thesis, sections 7.3.3 and 7.3.4. It measures one configuration after the other, as programs of
their own, on CPUs that no trial has meanwhile; while nothing is to be measured, trials have these,
too. A training trial is judged when all of them were; a later one of the same architecture has them
at once.
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
from trimtab.tuning.score import Failure
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study
from trimtab.tuning.trials.events import EndReason

# What inference costs with an architecture and a configuration, measured on CPUs in a folder.
Measure = Callable[
    [Mapping[str, Any], Mapping[str, Setting], Sequence[int], Path], MeasuredInference
]


@dataclass(frozen=True)
class InferenceOutcome:
    """What became of an architecture's inference: the best of `measured` configurations.

    `planned` is how many there were to be; `best` is None where none could be measured.
    """

    architecture: Mapping[str, Any]
    best: Chosen | None
    measured: int
    planned: int


class InferenceServer:
    """Tunes the `inference` parameters of `tuning` for every architecture that is trained.

    `architecture` are the names of the `model` parameters that inference depends on. `folder` is
    for this search alone; what is measured is kept in `known`. It wants so many `cpus`. `effort` is
    told by `measure` what it took, and tells it to stop. Used as a context manager: what it does at
    the block's end is ended first, and where the block raises what it measures is killed.
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
        if kind is not None:  # nobody waits for what is being measured
            self._effort.stopped.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._works)

    @property
    def cpus_wanted(self) -> int:
        """How many CPUs it wants for what there is to measure now."""
        with self._changed:
            return 0 if self._agenda.next() is None else self._cpus

    def work(self, cpus: Sequence[int]) -> None:
        """Measure on these CPUs until nothing is left, in a thread that may be bound to them."""
        os.sched_setaffinity(0, cpus)  # of this thread, and of what it starts
        try:
            while (key := self._next()) is not None:
                self._measure_one(key, cpus)
        finally:
            with self._changed:
                self._works = False
                self._changed.notify_all()

    def taken(self) -> tuple[float, float]:
        """Return the seconds and joules of what was measured since this was asked last."""
        return self._effort.taken()

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        """Hear that a trial has begun: its architecture's inference is tuned from now on."""
        with self._changed:
            self._agenda.started(trial, self._key_of(complete))

    def is_known(self, trial: int) -> bool:
        """Whether `metrics` of a trial, which has not been asked for, would not wait."""
        with self._changed:
            return self._agenda.is_complete(self._agenda.needs(trial))

    def dropped(self, trial: int) -> None:
        """Hear that the metrics of a trial are not going to be asked for, as it has failed."""
        with self._changed:
            self._agenda.dropped(trial)

    def metrics(self, trial: int) -> Mapping[str, float] | Failure:
        """Return what the best inference costs, or the failure of the last one where all failed.

        Waits until all that is planned was measured, so that no trial is judged by less than
        another one of its architecture. Others may be told of trials meanwhile.
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
        """Return what is known of the inference of a configuration's architecture."""
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
        """Whether a known configuration is one of this search's space."""
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
        """Measure a configuration that was not yet, or find that there is none."""
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
        if not measured.failure:  # which may be this machine's, and pass
            self._known.add(one.parameters, measured)
        remove_tree(folder)
        with self._changed:
            one.measured.append(measured)
            # What hangs would hang again, for as long each time.
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
    """What is known of the inference of one architecture, in this search."""

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
