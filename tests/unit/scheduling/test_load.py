"""The load of a cell before its simulation, against closed forms and the queue's own formulas."""

import math
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.clusters.cluster import Level
from trimtab.config import Configurations
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import JobClassConfig, TraceConfig, WorkConfig
from trimtab.config.stages import TraceStage
from trimtab.policies.dias import Dias
from trimtab.policies.priority import Priority
from trimtab.queueing.errors import UnstableQueueError
from trimtab.queueing.phase_type import PhaseType, erlang, exponential, fit_two_moments
from trimtab.queueing.poisson_priority import response_times
from trimtab.records.summary import Summary
from trimtab.scheduling.cell import simulate_cell
from trimtab.scheduling.deflator import EngineClass
from trimtab.scheduling.load import engine_load, load_of
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.setting import Setting, setting_of
from trimtab.scheduling.trace.make_trace import make_trace

PROJECT = Path(__file__).resolve().parents[3]
LEVELS = [Level(1.0, 10.0), Level(2.0, 30.0)]
MACHINE = Hardware("machine", 4, 20.0, 100.0, 0.0, 16.0, "test")
P = PolicyConfig(
    "preemptive", "priority", label="P", parameters={"preemption": "repeat", "level": 0}
)
NP = PolicyConfig("non_preemptive", "priority", parameters={"preemption": "none", "level": 0})


def classes(rates: list[float], job: PhaseType, dropping: float = 0.0) -> list[EngineClass]:
    """Classes of equal jobs; a drop ratio shortens the mean by `dropping` times itself."""

    def processing_time(ratio: float) -> PhaseType:
        return fit_two_moments(job.mean * (1 - dropping * ratio), 1.0) if dropping else job

    return [EngineClass(f"class_{k}", rate, processing_time) for k, rate in enumerate(rates)]


def reference(folder: Path, trace: str, jobs: int = 400) -> Setting:
    """A trace of the thesis' reference set-ups on its engine, with fewer jobs."""
    given = Configurations(PROJECT / "conf", ["experiment=dias_two_priorities"])
    cluster, config = given.option("cluster", "dias_engine"), given.trace(trace)
    config = replace(config, arrivals=replace(config.arrivals, jobs=jobs))
    stage = TraceStage(cluster, given.options("hardware", cluster.nodes), config)
    make_trace(stage, MeasuredClasses(), folder)
    return setting_of(stage, folder / "trace.parquet", folder / "trace.json")


def shared(
    folder: Path, arrivals: ArrivalsConfig, machine: Hardware = MACHINE, **asked: float
) -> Setting:
    """Jobs of 10 s, by default of two cores, on a cluster of two nodes with four cores each."""
    work = WorkConfig(distribution="deterministic", mean_s=10)
    job_class = JobClassConfig(**{"cores": 2, **asked}, work=work)
    trace = TraceConfig("drawn", 3, arrivals, {"one": job_class})
    stage = TraceStage(ClusterConfig("pair", {"machine": 2}), [machine], trace)
    make_trace(stage, MeasuredClasses(), folder)
    return setting_of(stage, folder / "trace.parquet", folder / "trace.json")


def test_repeated_work_counts_as_often_as_it_is_done() -> None:
    # An exponential job of rate m takes 1 / (m - a) with repeats, interrupted at rate a.
    found = engine_load(classes([0.3, 0.5], exponential(1.0)), LEVELS, Priority("repeat", level=0))
    assert found.total == pytest.approx(0.3 + 0.5 / (1 - 0.3))
    assert found.repeated and "repeats of evicted jobs included" in found.unstable_because
    for preemption in ("none", "resume"):
        policy = Priority(preemption, level=0)
        found = engine_load(classes([0.3, 0.5], exponential(1.0)), LEVELS, policy)
        assert found.total == pytest.approx(0.8)
        assert not found.repeated and not found.unstable_because


def test_repeats_without_a_mean_are_an_infinite_load() -> None:
    policy = Priority("repeat", level=0)
    found = engine_load(classes([2.0, 0.01], exponential(1.0)), LEVELS, policy)
    assert math.isinf(found.total) and found.unstable_because.startswith("the load is inf")


def test_dropped_tasks_and_a_higher_frequency_lower_the_load() -> None:
    given = classes([0.3, 0.5], exponential(1.0), dropping=0.5)
    dropping = Dias(drop_ratio={"class_1": 0.4})
    assert engine_load(given, LEVELS, dropping).total == pytest.approx(0.3 + 0.5 * 0.8)
    assert engine_load(given, LEVELS, Priority("none")).total == pytest.approx(0.4)
    repeated = engine_load(given, LEVELS, Priority("repeat"))
    assert repeated.total == pytest.approx(0.3 / 2 + 0.5 / (2 - 0.3))  # jobs of rate 2


@pytest.mark.parametrize(
    ("budget_s", "replenish_s_per_s", "expected"),
    [
        # Twice as fast from the start on: half the time, all of it sprinting.
        (None, 0.0, 0.3 / 2 + 0.5),
        (60.0, 0.5, 0.3 / 2 + 0.5),
        # A second of sprinting saves one; the initial budget is used up in the long run.
        (60.0, 0.1, 0.8 - 0.1),
        (60.0, 0.0, 0.8),
    ],
)
def test_a_sprint_budget_is_worth_its_replenishment(
    budget_s: float | None, replenish_s_per_s: float, expected: float
) -> None:
    policy = Dias(
        timeout_s={"class_0": 0.0}, budget_s=budget_s, replenish_s_per_s=replenish_s_per_s
    )
    found = engine_load(classes([0.3, 0.5], exponential(1.0)), LEVELS, policy)
    assert found.total == pytest.approx(expected)


@settings(deadline=None, max_examples=40)
@given(
    rates=st.lists(st.floats(0.02, 0.9), min_size=1, max_size=3),
    phases=st.integers(1, 20),
    preemption=st.sampled_from(["none", "repeat", "resume"]),
)
def test_unstable_is_what_the_formulas_refuse(
    rates: list[float], phases: int, preemption: str
) -> None:
    job, policy = erlang(phases, float(phases)), Priority(preemption, level=0)
    found = engine_load(classes(rates, job), LEVELS, policy)
    discipline = policy.discipline()
    assert discipline is not None
    assert found.total >= sum(rates) * job.mean - 1e-9
    try:
        response_times(rates, [job] * len(rates), discipline)
    except UnstableQueueError:
        assert found.unstable_because and found.total >= 1 - 1e-9
    else:
        assert not found.unstable_because


def test_the_thesis_mostly_high_is_unstable_with_repeats_alone(tmp_path: Path) -> None:
    cell = reference(tmp_path, "dias_mostly_high")
    repeated, waiting = load_of(cell, P), load_of(cell, NP)
    assert repeated and waiting
    assert repeated.total == pytest.approx(1.08, abs=0.01)
    assert waiting.total == pytest.approx(0.8, abs=0.001) and not waiting.unstable_because
    (tmp_path / "other").mkdir()
    stable = load_of(reference(tmp_path / "other", "dias_two_priorities"), P)
    assert stable and 0.8 < stable.total < 0.9


def test_an_unstable_cell_is_said_to_be_and_recorded(tmp_path: Path) -> None:
    cell, folder = reference(tmp_path, "dias_mostly_high"), tmp_path / "cell"
    expected = "under preemptive is unstable: the load is 1.08, repeats of evicted jobs included"
    with pytest.warns(UserWarning, match=expected):
        simulate_cell(cell, P, replications=1, is_baseline=True, destination=folder)
    summary = Summary.read(folder / "summary.json")
    assert summary.load == pytest.approx(1.08, abs=0.01)
    assert summary.unstable_because.startswith("the load is 1.08")
    # Only the arrivals are counted in the trace's own load.
    assert summary.offered_load is not None and summary.offered_load < 1
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*unstable")
        simulate_cell(cell, NP, replications=1, is_baseline=False, destination=folder)
    assert Summary.read(folder / "summary.json").unstable_because == ""


@pytest.mark.parametrize(("load", "unstable"), [(0.5, False), (1.5, True)])
def test_jobs_that_share_a_cluster_have_the_load_that_was_drawn(
    tmp_path: Path, load: float, unstable: bool
) -> None:
    cell = shared(tmp_path, ArrivalsConfig("poisson", jobs=3000, load=load))
    found = load_of(cell, PolicyConfig("first", "fcfs"))
    assert found and found.total == pytest.approx(load, rel=0.1)
    assert bool(found.unstable_because) is unstable


@pytest.mark.parametrize(
    ("asked", "expected", "resource"),
    [
        # At .1 jobs/s of 10 s one job is there on average, on 2 nodes of 4 cores, 4 GPUs, 16 GiB.
        ({"cores": 2, "gpus": 2}, 2 / 8, "cores"),
        ({"cores": 1, "gpus": 4}, 4 / 8, "GPUs"),
        ({"cores": 1, "gpus": 0.5, "memory_gib": 16}, 16 / 32, "memory"),
        ({"cores": 1, "gpus": 3.5}, 4 / 8, "GPUs"),  # takes four
    ],
)
@pytest.mark.parametrize("rate_per_s", [0.1, 0.4])
def test_the_load_is_of_the_scarcest_resource(
    tmp_path: Path, asked: dict[str, float], expected: float, resource: str, rate_per_s: float
) -> None:
    arrivals = ArrivalsConfig("poisson", jobs=3000, rate_per_s=rate_per_s)
    machine = replace(MACHINE, memory_gib=16.0, gpu_count=4)
    found = load_of(shared(tmp_path, arrivals, machine, **asked), PolicyConfig("first", "fcfs"))
    assert found and found.resource == resource
    assert found.total == pytest.approx(expected * rate_per_s / 0.1, rel=0.1)
    overloaded = f"the load of {resource} is {found.total:.3g}" if found.total >= 1 else ""
    assert found.unstable_because == overloaded


def test_jobs_that_end_have_no_steady_state(tmp_path: Path) -> None:
    cell = shared(tmp_path, ArrivalsConfig("bursts", jobs=100, bursts=2, horizon_s=1.0))
    assert load_of(cell, PolicyConfig("first", "fcfs")) is None
