"""One cell from YAML to its files, and the policies that are built for it."""

from pathlib import Path

import pytest

from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import FrequencyLevel, Hardware, Probe
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.objective import ClassLimits, Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig, TraceConfig, WorkConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.heats.policy import Heats
from trimtab.policies.registry import build_policy
from trimtab.records.parquet.files import read_table
from trimtab.records.summary import Summary
from trimtab.records.tables import ALLOCATIONS, LOAD, NODES, SCHEDULED
from trimtab.scheduling.cell import simulate_cell
from trimtab.scheduling.deflate import deflate
from trimtab.scheduling.formula import calculate
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.setting import Setting, facts_of, setting_of
from trimtab.scheduling.trace.make_trace import make_trace

LEVELS = [FrequencyLevel(1.0, 0.5, 14.0), FrequencyLevel(2.0, 1.0, 30.0)]
SMALL = Hardware("small", 2, 10.0, 30.0, 0.0, 8.0, "test", speed=2.0, levels=LEVELS)
LARGE = Hardware("large", 4, 20.0, 100.0, 0.0, 16.0, "test")
PAIR = ClusterConfig("pair", {"small": 1, "large": 2})
ENGINE = ClusterConfig("engine", {"small": 1}, engine_slots=2)
JOBS = {
    "one": JobClassConfig(cores=2, memory_gib=1, work=WorkConfig(mean_s=10)),
    "two": JobClassConfig(),
}
ROUNDS = RoundsConfig(map_tasks=4, map_task_s=2.0, set_up_s=1.0)
LOSS = [[0.0, 0.0], [0.5, 20.0]]
BY_PRIORITY = {
    "high": JobClassConfig(priority=1, rounds=ROUNDS),
    "low": JobClassConfig(priority=0, rounds=ROUNDS, share=3, accuracy_loss=LOSS),
}


def setting(
    folder: Path,
    cluster: ClusterConfig,
    hardware: list[Hardware],
    classes: dict[str, JobClassConfig],
) -> Setting:
    trace = TraceConfig("drawn", 3, ArrivalsConfig("poisson", jobs=500, load=0.6), classes)
    stage = TraceStage(cluster, hardware, trace)
    make_trace(stage, MeasuredClasses(), folder)
    return setting_of(stage, folder / "trace.parquet", folder / "trace.json")


@pytest.fixture
def shared(tmp_path: Path) -> Setting:
    classes = {name: JobClassConfig(cores=facts.cores, memory_gib=1, work=WorkConfig(mean_s=10))
               for name, facts in JOBS.items()}  # fmt: skip
    return setting(tmp_path, PAIR, [SMALL, LARGE], classes)


def test_a_cell_leaves_its_tables_and_means_with_intervals(shared: Setting, tmp_path: Path) -> None:
    policy = PolicyConfig("first", "fcfs", label="FCFS")
    simulate_cell(shared, policy, replications=3, is_baseline=True, destination=tmp_path / "cell")
    folder = tmp_path / "cell"
    summary = Summary.read(folder / "summary.json")
    jobs = read_table(folder / "jobs.parquet", SCHEDULED)
    assert len(jobs) == 500 and set(jobs["job_class"]) == {"one", "two"}
    for name, schema in (("allocations", ALLOCATIONS), ("nodes", NODES), ("load", LOAD)):
        assert len(read_table(folder / f"{name}.parquet", schema))
    assert summary.policy_label == "FCFS" and summary.baseline is True
    assert summary.all.replications == 3 and summary.simulator == "kernel"
    one = summary.classes["one"]
    assert one.response_mean_s_half_width_99 > 0  # other seeds, other traces
    first_s = jobs[jobs["job_class"] == "one"]["response_s"].mean()
    assert abs(one.response_mean_s - first_s) > 1e-9
    assert (one.drop_ratio, one.accuracy_loss_pct) == (0.0, 0.0)


def test_one_replication_is_what_its_tables_hold(shared: Setting, tmp_path: Path) -> None:
    policy = PolicyConfig("first", "fcfs")
    simulate_cell(shared, policy, replications=1, is_baseline=False, destination=tmp_path / "cell")
    summary = Summary.read(tmp_path / "cell/summary.json")
    jobs = read_table(tmp_path / "cell/jobs.parquet", SCHEDULED)
    for name, group in jobs.groupby("job_class"):
        assert summary.classes[name].response_mean_s == pytest.approx(group["response_s"].mean())
        assert summary.classes[name].jobs == len(group)
    assert summary.all.response_mean_s_half_width_99 is None


def heats(facts: PolicyInputs, **parameters: object) -> Heats:
    policy = build_policy("heats", parameters, facts)
    assert isinstance(policy, Heats)
    return policy


def test_heats_predicts_what_the_nodes_take(shared: Setting) -> None:
    facts = facts_of(shared)
    work_s = facts.asked[0].work_s
    policy = heats(facts)
    # The classes' mean times differ a little, which cores and memory cannot tell; the highest
    # level's speeds are 2 and 1.
    assert policy.run_time_s[0, 0, 1] == pytest.approx(work_s / 2, rel=0.05)
    assert policy.run_time_s[0, 1, 0] == pytest.approx(work_s, rel=0.05)
    assert policy.energy_j[0, 1, 0] == pytest.approx(80 * 2 / 4 * work_s, rel=0.05)
    held = heats(facts, idle_in_energy=True)
    more_j = held.energy_j[0, 1, 0] - policy.energy_j[0, 1, 0]
    assert more_j == pytest.approx(20 * 2 / 4 * policy.run_time_s[0, 1, 0])
    by_level = heats(facts, choose_level=True)
    assert by_level.run_time_s[0, 0, 0] > 1.5 * by_level.run_time_s[0, 0, 1]


def test_real_probes_are_used_where_every_node_type_has_some(tmp_path: Path) -> None:
    probes = [Probe("k", cores, 1.0, 1.0, 7.0 * cores, 70.0, level=1) for cores in (1, 2, 1, 2)]
    probed = Hardware("small", 2, 10.0, 30.0, 0.0, 8.0, "test", levels=LEVELS, probes=probes)
    classes = {"one": JobClassConfig(cores=2, memory_gib=1, work=WorkConfig(mean_s=10))}
    alone = heats(facts_of(setting(tmp_path, ClusterConfig("c", {"small": 2}), [probed], classes)))
    assert alone.run_time_s[0, 0, 1] == pytest.approx(14.0)
    cell = setting(tmp_path, PAIR, [probed, LARGE], classes)
    both = heats(facts_of(cell))
    assert both.run_time_s[0, 0, 1] == pytest.approx(facts_of(cell).asked[0].work_s)


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("heat", {}, "kind: 'heat' given, expected one of dias, fcfs, heats"),
        ("heats", {"energy_wait": 1}, "energy_wait given; the keys of heats are: energy_weight"),
        ("heats", {"energy_weight": "rand"}, "'rand' given, expected 0 to 1, or random"),
        ("heats_as_released", {}, "its one row has .* the cluster has small, large too"),
    ],
)
def test_policies_that_are_not_there_are_errors(
    shared: Setting, kind: str, parameters: dict[str, object], expected: str
) -> None:
    with pytest.raises(UserError, match=expected):
        build_policy(kind, parameters, facts_of(shared))


def test_a_cell_by_formula_or_why_there_is_none(tmp_path: Path) -> None:
    cell = setting(tmp_path, ENGINE, [SMALL], BY_PRIORITY)
    # Exponential tasks on two slots: ends at their joint rate, and the last one alone.
    dropping = {"drop_ratio": {"low": 0.5}}
    found = calculate(cell, PolicyConfig("da", "dias", parameters=dropping))
    assert found.model and not found.not_possible_because
    assert found.classes["low"].execution_mean_s == pytest.approx(1 + 1 + 2)
    assert found.classes["high"].execution_mean_s == pytest.approx(1 + 1 + 1 + 1 + 2)
    none = calculate(cell, PolicyConfig("first", "fcfs"))
    assert none.not_possible_because == "policy first: no formula for the kind fcfs"
    assert not none.model and not none.classes


def test_the_deflators_choice_is_confirmed_by_simulation(tmp_path: Path) -> None:
    cell = setting(tmp_path, ENGINE, [SMALL], BY_PRIORITY)
    limits = {"high": ClassLimits(0), "low": ClassLimits(20, drop_ratios=[0.0, 0.5])}
    found = deflate(cell, Objective("test", limits))
    assert found.classes == ["high", "low"] and len(found.rows) == 2
    (chosen,) = [row for row in found.rows if row.chosen]
    assert chosen.drop_ratio == {"high": 0.0, "low": 0.5}
    assert found.confirmed
    for name in ("high", "low"):  # 500 jobs are few: the same size, no more
        simulated_s = found.confirmed.response_mean_s[name]
        assert simulated_s == pytest.approx(chosen.response_mean_s[name], rel=0.35)


def test_dropped_tasks_lose_the_accuracy_that_the_trace_says(tmp_path: Path) -> None:
    cell = setting(tmp_path, ENGINE, [SMALL], BY_PRIORITY)
    policy = PolicyConfig("da", "dias", parameters={"drop_ratio": {"low": 0.25}})
    simulate_cell(cell, policy, replications=1, is_baseline=False, destination=tmp_path / "cell")
    classes = Summary.read(tmp_path / "cell/summary.json").classes
    assert classes["low"].accuracy_loss_pct == pytest.approx(10.0)
    assert classes["low"].dropped_tasks == classes["low"].jobs  # one of four
    assert classes["high"].dropped_tasks == 0


@pytest.mark.parametrize(("kind", "predicts"), [("heats", True), ("fcfs", False)])
def test_heats_predictions_are_held_against_its_jobs(
    kind: str, predicts: bool, shared: Setting, tmp_path: Path
) -> None:
    policy = PolicyConfig(kind, kind)
    simulate_cell(shared, policy, replications=2, is_baseline=True, destination=tmp_path / "cell")
    found = Summary.read(tmp_path / "cell" / "summary.json").predictions
    assert bool(found) is predicts
    jobs = read_table(tmp_path / "cell" / "jobs.parquet", SCHEDULED)
    stayed = jobs[jobs["migrations"] == 0]
    assert sum(errors.runs for errors in found) == (len(stayed) if predicts else 0)
    for errors in found:
        # Jobs draw exponential work: a mean is far from most of them. Power follows the cores.
        assert errors.run_time_error_pct > 30
        assert errors.power_error_pct < errors.energy_error_pct
