"""Cells on equal nodes: which have a formula, and that it is the simulator's mean."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.config import Configurations
from trimtab.config.groups.cluster import ClusterConfig, OutageConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig, TraceConfig, WorkConfig
from trimtab.config.stages import TraceStage
from trimtab.records.summary import FormulaResponse, Summary
from trimtab.scheduling.cell import simulate_cell
from trimtab.scheduling.formula import calculate
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.setting import Setting, setting_of
from trimtab.scheduling.trace.make_trace import make_trace

PROJECT = Path(__file__).resolve().parents[3]
FCFS = PolicyConfig("fcfs", "fcfs")
NP = PolicyConfig("np", "priority", parameters={"preemption": "none"})
RESUME = PolicyConfig("pr", "priority", parameters={"preemption": "resume"})
REPEAT = PolicyConfig("p", "priority", parameters={"preemption": "repeat"})
HALF_A_NODE = {"cores": 16.0, "memory_gib": 1.0}  # of the 32 cores of the node


def node() -> Hardware:
    given = Configurations(PROJECT / "conf", ["experiment=dias_two_priorities"])
    machine: Hardware = given.option("hardware", "epyc_7281")
    return replace(machine, speed=1.6)


def stage(
    classes: dict[str, JobClassConfig], nodes: int, *, load: float = 0.7, jobs: int = 30_000
) -> TraceStage:
    machine = node()
    arrivals = ArrivalsConfig("poisson", jobs, load=load)
    return TraceStage(
        ClusterConfig("equal", {machine.name: nodes}),
        [machine],
        TraceConfig("drawn", 3, arrivals, classes),
    )


def setting(given: TraceStage, folder: Path) -> Setting:
    make_trace(given, MeasuredClasses(), folder)
    return setting_of(given, folder / "trace.parquet", folder / "trace.json")


def job_class(priority: int, kind: str, mean_s: float, **of_work: float) -> JobClassConfig:
    work = WorkConfig(kind, mean_s, **of_work)
    return JobClassConfig(priority, priority + 1.0, work=work, **HALF_A_NODE)


SAME = {"low": job_class(0, "exponential", 10.0), "high": job_class(1, "exponential", 10.0)}
MIXED = {
    "low": job_class(0, "hyperexponential", 10.0, scv=3.0),
    "high": job_class(1, "erlang", 4.0, phases=2),
}


@pytest.mark.parametrize(
    ("classes", "policy", "model"),
    [
        (MIXED, FCFS, "exact: M/PH/c, c = 4"),
        (SAME, NP, "exact: M/M/c with priorities, c = 4"),
        (SAME, RESUME, "exact means: M/M/c with preemptive priorities, c = 4"),
    ],
)
def test_the_simulator_agrees(
    classes: dict[str, JobClassConfig], policy: PolicyConfig, model: str, tmp_path: Path
) -> None:
    given = setting(stage(classes, 2), tmp_path)
    formula = calculate(given, policy)
    assert formula.model == model and not formula.bounds
    simulate_cell(given, policy, replications=6, is_baseline=True, destination=tmp_path)
    simulated = Summary.read(tmp_path / "summary.json").classes
    assert set(formula.classes) == set(simulated)
    for name, by_formula in formula.classes.items():
        for key in ("response_mean_s", "execution_mean_s", "response_p95_s"):
            expected, half = (
                getattr(by_formula, key),
                getattr(simulated[name], f"{key}_half_width_99"),
            )
            if expected is not None:
                assert abs(getattr(simulated[name], key) - expected) < half, (name, key)
                assert half < 0.2 * expected


@pytest.mark.parametrize("policy", [FCFS, NP, REPEAT])
def test_one_place_is_the_known_single_server(policy: PolicyConfig, tmp_path: Path) -> None:
    whole = {
        name: replace(job_class(facts.priority, "exponential", 10.0), cores=32.0)
        for name, facts in SAME.items()
    }
    given = setting(stage(whole, 1, load=0.5), tmp_path)
    found = calculate(given, policy)
    assert found.model.startswith("exact: M/PH/")
    # By Pollaczek and Khinchine, 6.25 s at speed 1.6 and half a load take 12.5 s in all.
    shares = {"low": 1 / 3, "high": 2 / 3}
    if policy is not REPEAT:
        mean_s = sum(shares[name] * found.classes[name].response_mean_s for name in shares)
        assert mean_s == pytest.approx(12.5, rel=1e-6)
    assert (found.classes["low"].waste_share > 0) == (policy is REPEAT)


def test_bounds_hold_for_what_is_about(tmp_path: Path) -> None:
    fixed = {"low": job_class(0, "deterministic", 10.0), "high": job_class(1, "lognormal", 6.0)}
    given = setting(stage(fixed, 2), tmp_path)
    found = calculate(given, FCFS)
    assert found.model.startswith("approximation of Lee and Longton")
    found.write(tmp_path / "formula.json")
    assert FormulaResponse.read(tmp_path / "formula.json") == found
    simulate_cell(given, FCFS, replications=4, is_baseline=True, destination=tmp_path)
    simulated = Summary.read(tmp_path / "summary.json").classes
    for name, figures in found.classes.items():
        bounds = found.bounds[name]
        assert bounds.low_s < simulated[name].response_mean_s < bounds.high_s
        assert figures.response_mean_s == pytest.approx(simulated[name].response_mean_s, rel=0.1)
        assert figures.response_p95_s is None


def test_jobs_of_tasks_run_on_their_cores(tmp_path: Path) -> None:
    rounds = RoundsConfig(map_tasks=20, set_up_s=1.0, map_task_s=2.0, distribution="exponential")
    given = setting(stage({"jobs": JobClassConfig(rounds=rounds, **HALF_A_NODE)}, 1), tmp_path)
    found = calculate(given, FCFS)
    assert found.model == "exact: M/PH/c, c = 2", found.not_possible_because
    # 20 tasks on 16 cores: 4 ends at the rate of all cores, then 16, 15, ... 1 are left.
    expected_s = (1.0 + 2.0 * (4 / 16 + sum(1 / n for n in range(1, 17)))) / 1.6
    assert found.classes["jobs"].execution_mean_s == pytest.approx(expected_s)


@pytest.mark.parametrize(
    ("change", "policy", "expected"),
    [
        ({"hardware": 2}, FCFS, "nodes of one type that do not fail"),
        ({"outages": [OutageConfig(0, 1, 2)]}, FCFS, "nodes of one type that do not fail"),
        ({"arrivals": ArrivalsConfig("bursts", 9, bursts=2, horizon_s=9)}, FCFS, "need Poisson"),
        ({"job": {"cores": 3.0}}, FCFS, "2 to 10 jobs fit a node; .* give all the same cores"),
        ({"job": {"gpus": 0.5}}, FCFS, "classes of whole GPUs"),
        ({"job": {"gpus": 1.0}}, FCFS, "0 to 2 jobs fit a node"),
        ({"job": {"cold_start_s": 1.0}}, FCFS, "class low: no formula for a measured workload"),
        ({"job": {"priority": 1}}, NP, "a priority of its own"),
        ({"job": {"work": WorkConfig("uniform")}}, FCFS, "expected more than 0"),
        ({}, REPEAT, "no formula for preemptive-repeat on 4 servers"),
        ({}, PolicyConfig("k", "kubernetes"), "policy k: no formula for the kind kubernetes"),
        ({}, PolicyConfig("s", "dias", parameters={"timeout_s": {"high": 2}}), "no formula for sp"),
    ],
)
def test_what_no_formula_covers_is_said(
    change: dict[str, object], policy: PolicyConfig, expected: str, tmp_path: Path
) -> None:
    plain = stage(SAME, 2, jobs=100)
    given, trace = setting(plain, tmp_path), plain.trace
    cluster, hardware = plain.cluster, list(plain.hardware)
    match change:
        case {"hardware": 2}:
            other = replace(hardware[0], name="other")
            cluster, hardware = (
                replace(cluster, nodes={**cluster.nodes, "other": 1}),
                [*hardware, other],
            )
        case {"outages": outages}:
            cluster = replace(cluster, outages=outages)
        case {"arrivals": arrivals}:
            trace = replace(trace, arrivals=arrivals)
        case {"job": keys}:
            low = replace(trace.classes["low"], **keys)
            trace = replace(trace, classes={**trace.classes, "low": low})
    changed = replace(given, stage=TraceStage(cluster, hardware, trace))
    found = calculate(changed, policy)
    assert not found.classes

    assert re.search(expected, found.not_possible_because), found.not_possible_because
