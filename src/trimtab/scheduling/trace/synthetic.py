"""The classes of jobs of a drawn trace: what they ask for, and the distribution of their work."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.hardware_types import GIB
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.trace import JobClassConfig, WorkConfig
from trimtab.config.stages import TraceStage
from trimtab.records.trace_facts import MeasuredWorkload
from trimtab.scheduling.from_config import measured_work
from trimtab.traces import distribution
from trimtab.traces.generators import RoundCounts, SyntheticClass, TaskCounts


@dataclass(frozen=True)
class Empirical:
    """The empirical distribution: one of the measured values, equally probable."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.mean(self.values))

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Return `size` independent draws."""
        return rng.choice(np.array(self.values), size)


def synthetic_class(
    stage: TraceStage, name: str, measured: MeasuredWorkload | None
) -> SyntheticClass:
    """Return the class `name` of a stage's trace; `measured` is the workload that it names."""
    facts = stage.trace.classes[name]
    memory_bytes = int(facts.memory_gib * GIB) if measured is None else measured.memory_bytes
    return SyntheticClass(
        name=name,
        priority=facts.priority,
        cpu_milli=stage.cluster.engine_slots * 1000 or round(facts.cores * 1000),
        gpu_milli=round(facts.gpus * 1000),
        memory_bytes=memory_bytes,
        work=_work(facts, stage.hardware, measured),
    )


def _work(
    facts: JobClassConfig, hardware: Sequence[Hardware], measured: MeasuredWorkload | None
) -> distribution.Distribution | RoundCounts:
    if measured is not None:
        (machine,) = [node_type for node_type in hardware if node_type.name == measured.hardware]
        return Empirical(measured_work(measured, machine))
    if facts.rounds.map_tasks:
        # The rounds' times leave out rounds without tasks; here the count has to be 1 or more.
        scv = facts.rounds.size_scv
        return RoundCounts(
            TaskCounts((facts.rounds.map_tasks,), (1.0,)),
            TaskCounts((max(1, facts.rounds.reduce_tasks),), (1.0,)),
            distribution.LogNormal(1.0, scv) if scv else distribution.Deterministic(1.0),
        )
    return _distribution(facts.work)


def _distribution(work: WorkConfig) -> distribution.Distribution:
    match work.distribution:
        case "deterministic":
            return distribution.Deterministic(work.mean_s)
        case "erlang":
            return distribution.Erlang(work.mean_s, work.phases)
        case "uniform":
            return distribution.Uniform(work.minimum_s, work.maximum_s)
        case "lognormal":
            return distribution.LogNormal(work.mean_s, work.scv)
        case "hyperexponential":
            return distribution.HyperExponential(work.mean_s, work.scv)
        case _:
            return distribution.Exponential(work.mean_s)
