"""An engine and its classes of jobs for the formulas: processing times by drop ratio."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from trimtab.clusters.round_times import service_times
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalKind
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig, TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.queueing.job_times import TaskModel, WaveModel
from trimtab.queueing.mmap import MarkedArrivals
from trimtab.queueing.phase_type import PhaseType, erlang, fit_two_moments
from trimtab.records.trace_facts import MeasuredWorkload
from trimtab.scheduling.deflator import EngineClass, EnginePower
from trimtab.scheduling.from_config import cluster_of, rounds_of
from trimtab.scheduling.protection import protected_rounds
from trimtab.scheduling.trace.arrival_rates import arrival_process, poisson_rates
from trimtab.secure_tasks.cost import Bound

# Other arrivals end by themselves: what waits at their end does not depend on a number of jobs.
STATIONARY = (ArrivalKind.POISSON, ArrivalKind.MARKOVIAN, ArrivalKind.MODULATED)
_SAMPLE = 50_000  # drawn jobs that estimate the moments of a class
_LEAST_SCV = 0.002  # less would need over 500 phases, without a visible effect on response times


def engine_classes(
    stage: TraceStage,
    original: Mapping[str, MeasuredWorkload],
    bound: Bound | None = Bound.TYPICAL,
) -> list[EngineClass]:
    """Return the classes of a trace of stationary arrivals in the order of decreasing importance.

    Tasks of secure classes take their time in an enclave, at the end `bound` of its costs; with
    None, the time without protection. Arrival rates do not change: the load is defined for
    unprotected jobs.

    Where all times are exponential and all jobs equal, processing times follow equation 4.1 of
    Rocha's thesis. Jobs of waves have the waves' phases (section 4.3.2). Otherwise processing times
    have a phase-type distribution with the mean and variance of drawn jobs. Raises UserError
    without an engine or stationary arrivals, and for equal priorities.
    """
    cluster, config = stage.cluster, stage.trace
    if not cluster.engine_slots or config.arrivals.kind not in STATIONARY:
        raise UserError(
            f"cluster {cluster.name}, trace {config.name}: formulas need an engine (engine_slots) "
            f"and arrivals of the kind {' or '.join(STATIONARY)}"
        )
    priorities = [facts.priority for facts in config.classes.values()]
    if len(set(priorities)) < len(priorities):
        raise UserError(f"trace {config.name}: formulas need a priority of its own for each class")
    if config.arrivals.kind == ArrivalKind.POISSON:
        rates = poisson_rates(stage, original)
    else:
        process = arrival_process(stage, original)
        rates = dict(zip(config.classes, process.rates.tolist(), strict=True))
    return [
        _engine_class(
            name,
            replace(config.classes[name], rounds=protected_rounds(stage, name, bound)),
            rates[name],
            cluster,
            config.seed,
        )
        for name in _by_importance(config)
    ]


def engine_arrivals(
    stage: TraceStage, original: Mapping[str, MeasuredWorkload]
) -> MarkedArrivals | None:
    """Return arrivals that are no Poisson arrivals, in the order of decreasing importance."""
    if stage.trace.arrivals.kind == ArrivalKind.POISSON:
        return None
    names, process = list(stage.trace.classes), arrival_process(stage, original)
    order = [names.index(name) for name in _by_importance(stage.trace)]
    return MarkedArrivals(process.hidden, process.marked[order])


def _by_importance(config: TraceConfig) -> list[str]:
    return sorted(config.classes, key=lambda name: -config.classes[name].priority)


def engine_power(cluster: ClusterConfig, hardware: Sequence[Hardware]) -> EnginePower:
    """Return the engine's power at its lowest and highest frequency, and their ratio."""
    (node_type,) = cluster_of(cluster, hardware).node_types
    lowest, highest = node_type.levels[0], node_type.levels[-1]
    return EnginePower(
        idle_w=node_type.idle_w,
        busy_w=node_type.idle_w + lowest.active_w,
        sprint_w=node_type.idle_w + highest.active_w,
        speed_up=highest.speed / lowest.speed,
    )


def _engine_class(
    name: str, facts: JobClassConfig, rate_per_s: float, cluster: ClusterConfig, seed: int
) -> EngineClass:
    if not facts.rounds.map_tasks:
        raise UserError(f"class {name}: rounds: formulas need a job of map tasks")

    @cache
    def processing_time(drop_ratio: float) -> PhaseType:
        return processing_time_of(facts.rounds, cluster.engine_slots, drop_ratio, seed)

    return EngineClass(
        name=name,
        rate_per_s=rate_per_s,
        processing_time=processing_time,
        accuracy_loss=[(ratio, loss) for ratio, loss in facts.accuracy_loss],
    )


def is_exact(rounds: RoundsConfig) -> bool:
    """Return whether `processing_time_of` has the very distribution of the jobs' times."""
    if rounds.size_scv:
        return False
    if rounds.map_wave.start:
        phased = rounds.distribution in ("exponential", "erlang")
        return phased or not (rounds.set_up_s or rounds.shuffle_s)
    return rounds.distribution == "exponential"


def processing_time_of(rounds: RoundsConfig, slots: int, drop_ratio: float, seed: int) -> PhaseType:
    """Return the time of jobs that run `slots` tasks at once; exact where `is_exact` says so."""
    if is_exact(rounds):
        model = _waves(rounds, slots) if rounds.map_wave.start else _tasks(rounds, slots)
        return model.processing_time(drop_ratio, drop_ratio)
    maps, reduces, places = (
        np.full(_SAMPLE, count) for count in (rounds.map_tasks, rounds.reduce_tasks, slots)
    )
    drawn_s, _ = service_times(
        rounds_of(rounds), seed, np.arange(_SAMPLE), maps, reduces, places, drop_ratio
    )
    mean_s = float(drawn_s.mean())
    # A job's size is independent of its tasks' times: E[(XY)^2] = E[X^2] E[Y^2].
    scv = (1 + rounds.size_scv) * (1 + float(drawn_s.var()) / mean_s**2) - 1
    return fit_two_moments(mean_s, max(scv, _LEAST_SCV))


def _tasks(rounds: RoundsConfig, slots: int) -> TaskModel:
    return TaskModel(
        setup_s=rounds.set_up_s,
        map_task_s=rounds.map_task_s,
        shuffle_s=rounds.shuffle_s if rounds.reduce_tasks else 0.0,
        reduce_task_s=rounds.reduce_task_s,
        map_tasks={rounds.map_tasks: 1.0},
        reduce_tasks={rounds.reduce_tasks: 1.0},
        slots=slots,
        map_stages=rounds.map_stages,
    )


def _waves(rounds: RoundsConfig, slots: int) -> WaveModel:
    phases = rounds.phases if rounds.distribution == "erlang" else 1

    def once(mean_s: float) -> PhaseType | None:
        return erlang(phases, phases / mean_s) if mean_s else None

    map_wave = PhaseType(np.array(rounds.map_wave.start), np.array(rounds.map_wave.transitions))
    last = rounds.reduce_wave if rounds.reduce_wave.start else rounds.map_wave
    return WaveModel(
        setup=once(rounds.set_up_s),
        map_wave=map_wave,
        shuffle=once(rounds.shuffle_s) if rounds.reduce_tasks else None,
        reduce_wave=PhaseType(np.array(last.start), np.array(last.transitions)),
        map_tasks={rounds.map_tasks: 1.0},
        reduce_tasks={rounds.reduce_tasks: 1.0},
        slots=slots,
        map_stages=rounds.map_stages,
    )
