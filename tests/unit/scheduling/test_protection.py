"""Jobs in enclaves: where they run, what that costs by the model, and who notices nothing of it."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.clusters.cluster import JobClass
from trimtab.clusters.hardware_types import GIB
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.enclave import CostRange, Enclave, PageCache, Secure, ThreadLimit
from trimtab.config.groups.hardware import FrequencyLevel, Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.objective import ClassLimits, Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig, TraceConfig, WorkConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.policies.facts import Asked
from trimtab.policies.heats.policy import Heats
from trimtab.policies.registry import build_policy
from trimtab.records.parquet.files import read_table
from trimtab.records.summary import Summary
from trimtab.records.tables import ALLOCATIONS, SCHEDULED
from trimtab.scheduling.cell import simulate_cell
from trimtab.scheduling.deflate import deflate
from trimtab.scheduling.formula import calculate
from trimtab.scheduling.from_config import cluster_of, job_classes_of
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.protection import protect
from trimtab.scheduling.setting import Setting, facts_of, setting_of
from trimtab.scheduling.trace.make_trace import make_trace
from trimtab.secure_tasks.cost import Bound, EnclaveTask, protected_s

MIB = 2**20


def cost(low: float, typical: float, high: float) -> CostRange:
    return CostRange(low, high, "a test", typical)


SGX = Enclave(
    "sgx",
    work_factor=cost(1.0, 1.2, 1.5),
    call_s=cost(0.001, 0.002, 0.004),
    encryption_s_per_byte=cost(1e-9, 2e-9, 3e-9),
    contention_s=cost(0.0, 1e-4, 2e-4),
    page_fault_s=cost(1e-5, 2e-5, 3e-5),
    page_cache=PageCache(64, "a test"),
    thread_limit=ThreadLimit(3, "a test"),
)
LEVELS = [FrequencyLevel(1.0, 0.5, 14.0), FrequencyLevel(2.0, 1.0, 30.0)]
INSIDE = Hardware(
    "inside", 4, 10.0, 30.0, 0.0, 16.0, "test", speed=2.0, levels=LEVELS, enclave="sgx"
)
OPEN = Hardware("open", 4, 20.0, 100.0, 0.0, 16.0, "test", speed=3.0)
PAIR = ClusterConfig("pair", {"open": 2, "inside": 1})
ENGINE = ClusterConfig("engine", {"inside": 2}, engine_slots=4)
JOB = Secure(calls=100, encrypted_mb=50.0)
SECURE = JobClassConfig(cores=2, memory_gib=1, work=WorkConfig(mean_s=10), secure=JOB)
SHARED = {"secure": SECURE, "plain": replace(SECURE, secure=None)}
ROUNDS = RoundsConfig(map_tasks=4, map_task_s=2.0, reduce_tasks=2, reduce_task_s=1.0, set_up_s=1.0)
TASKS = Secure(calls=10, encrypted_mb=20.0, working_set_mib=48)
BY_PRIORITY = {
    "high": JobClassConfig(priority=1, rounds=ROUNDS, secure=TASKS),
    "low": JobClassConfig(priority=0, rounds=ROUNDS, share=3, accuracy_loss=[[0, 0], [0.5, 20]]),
}


def stage_of(
    cluster: ClusterConfig, classes: dict[str, JobClassConfig], enclave: Enclave = SGX
) -> TraceStage:
    trace = TraceConfig("drawn", 3, ArrivalsConfig("poisson", jobs=300, load=0.15), classes)
    machines = [{"inside": INSIDE, "open": OPEN}[name] for name in cluster.nodes]
    return TraceStage(cluster, machines, trace, enclaves=[enclave])


def setting(folder: Path, cluster: ClusterConfig, classes: dict[str, JobClassConfig]) -> Setting:
    stage = stage_of(cluster, classes)
    make_trace(stage, MeasuredClasses(), folder)
    return setting_of(stage, folder / "trace.parquet", folder / "trace.json")


def factor(
    secure: Secure,
    bound: Bound = Bound.TYPICAL,
    *,
    cores: float = 2.0,
    gpus: float = 0.0,
    memory_gib: float = 1.0,
    work_s: float = 10.0,
    enclave: Enclave = SGX,
) -> float:
    """What protection multiplies the work on the node with an enclave by; the other never fits."""
    facts = JobClassConfig(cores=cores, gpus=gpus, memory_gib=memory_gib, secure=secure)
    stage = stage_of(PAIR, {"one": facts}, enclave)
    asked = [Asked(cores, memory_gib, work_s, gpus)]
    cluster = cluster_of(stage.cluster, stage.hardware)
    classes = job_classes_of(stage.hardware, stage.trace.classes, {})
    (protected,) = protect(stage, cluster, classes, asked, bound)
    assert not protected.runs_on("open") and protected.protected("open") == math.inf
    return protected.protected("inside")


def test_a_job_of_one_core_is_the_task_of_the_model() -> None:
    task = EnclaveTask(work_s=5.0, calls=100, in_bytes=50e6, working_set_bytes=GIB)  # at speed 2
    assert factor(JOB, cores=1.0) == pytest.approx(protected_s(task, 1, SGX) / 5.0)
    by_hand_s = 1.2 * 5 + 100 * 0.002 + 50e6 * 2e-9 + (GIB - 64 * MIB) / 4096 * 2e-5
    assert factor(JOB, cores=1.0) == pytest.approx(by_hand_s / 5)


def test_the_threads_of_a_job_share_its_calls_and_its_memory() -> None:
    """Three threads: a third of everything each, and contention with two others a call."""
    calls_s = 100 / 3 * (0.002 + 1e-4 * 2 * 3)
    by_hand_s = 1.2 * 5 + calls_s + 50e6 / 3 * 2e-9 + (GIB - 64 * MIB) / 4096 / 3 * 2e-5
    assert factor(JOB, cores=2.5) == pytest.approx(by_hand_s / 5)


def test_a_working_set_of_its_own_goes_before_the_memory() -> None:
    small = replace(JOB, working_set_mib=64)
    assert factor(small) == factor(small, memory_gib=8) < factor(JOB)


@pytest.mark.parametrize(
    ("changes", "enclave"),
    [
        ({"cores": 4.0}, SGX),
        ({"gpus": 1.0}, SGX),
        ({}, replace(SGX, page_cache=PageCache(64, "a test", paged=False))),
    ],
)
def test_what_does_not_fit_an_enclave_never_runs_there(
    changes: dict[str, float], enclave: Enclave
) -> None:
    assert factor(JOB, enclave=enclave, **changes) == math.inf  # type: ignore[arg-type]


def test_an_enclave_that_protects_gpus_or_has_no_limits_takes_them() -> None:
    free = replace(SGX, gpus=True, thread_limit=None, page_cache=None)
    assert factor(JOB, cores=4.0, gpus=1.0, enclave=free) < math.inf


@given(
    st.builds(
        Secure,
        calls=st.integers(0, 10_000),
        encrypted_mb=st.floats(0, 1e4),
        working_set_mib=st.none() | st.floats(0, 1e4),
    ),
    st.floats(0.5, 3),
    st.floats(0.01, 1e4),
)
def test_the_ends_of_the_range_hold_the_best_estimate(
    secure: Secure, cores: float, work_s: float
) -> None:
    low, typical, high = (
        factor(secure, bound, cores=cores, work_s=work_s)
        for bound in (Bound.LOW, Bound.TYPICAL, Bound.HIGH)
    )
    assert 1.0 <= low <= typical <= high < math.inf


def test_who_is_not_secure_is_as_before(tmp_path: Path) -> None:
    protected = setting(tmp_path, PAIR, SHARED)
    with_it, without = facts_of(protected), facts_of(replace(protected, bound=None))
    assert with_it.job_classes[1] is not None
    assert with_it.job_classes[1] == without.job_classes[1]
    assert with_it.probes == without.probes  # nodes are probed outside
    assert without.job_classes[0] == JobClass("secure")


def test_jobs_arrive_alike_with_and_without_protection(tmp_path: Path) -> None:
    plain = {name: replace(facts, secure=None) for name, facts in BY_PRIORITY.items()}
    for name, classes in (("with", BY_PRIORITY), ("without", plain)):
        (tmp_path / name).mkdir()
        make_trace(stage_of(ENGINE, classes), MeasuredClasses(), tmp_path / name)
    assert (tmp_path / "with/trace.parquet").read_bytes() == (
        tmp_path / "without/trace.parquet"
    ).read_bytes()


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("kubernetes", {}),
        ("fcfs", {}),
        ("heats", {"energy_weight": 0.0, "tick_s": 5}),
        ("heats", {"energy_weight": 0.7, "tick_s": 5, "choose_level": True}),
    ],
)
def test_a_cell_and_what_protection_costs_in_it(
    tmp_path: Path, kind: str, parameters: dict[str, object]
) -> None:
    cell, policy = setting(tmp_path, PAIR, SHARED), PolicyConfig("one", kind, "", parameters)
    simulate_cell(cell, policy, replications=2, is_baseline=True, destination=tmp_path / "with")
    simulate_cell(
        replace(cell, bound=None), policy, replications=2, is_baseline=True,
        destination=tmp_path / "without",
    )  # fmt: skip
    summary = Summary.read(tmp_path / "with/summary.json")
    without = Summary.read(tmp_path / "without/summary.json")
    assert without.protection is None
    found = summary.protection
    assert found is not None and found.secure == ["secure"] and found.enclaves == {"inside": "sgx"}
    assert (found.without.classes, found.without.all) == (without.classes, without.all)
    jobs = read_table(tmp_path / "with/jobs.parquet", SCHEDULED).set_index("job")
    allocations = read_table(tmp_path / "with/allocations.parquet", ALLOCATIONS)
    places = allocations.groupby(allocations["job"].map(jobs["job_class"]))["node"].unique()
    assert set(places["secure"]) == {2}
    assert set(places["plain"]) & {0, 1}
    executed = [of.classes["secure"].execution_mean_s for of in (found.low, summary, found.high)]
    assert executed[0] < executed[1] < executed[2]  # type: ignore[operator]


def test_heats_predicts_the_time_and_the_energy_inside(tmp_path: Path) -> None:
    cell = setting(tmp_path, PAIR, SHARED)
    facts = facts_of(cell)
    inside, outside = (build_policy("heats", {}, one) for one in (
        facts, facts_of(replace(cell, bound=None))))  # fmt: skip
    assert isinstance(inside, Heats) and isinstance(outside, Heats)
    longer = facts.job_classes[0].protected("inside")
    assert longer > 1.2
    assert inside.run_time_s[0, 1] == pytest.approx(longer * outside.run_time_s[0, 1])
    assert inside.energy_j[0, 1] == pytest.approx(longer * outside.energy_j[0, 1])
    assert inside.run_time_s[1].tobytes() == outside.run_time_s[1].tobytes()
    held = build_policy("heats", {"idle_in_energy": True}, facts)
    assert isinstance(held, Heats)
    idle_w = 10 * 2 / 4
    assert held.energy_j[0, 1] - inside.energy_j[0, 1] == pytest.approx(
        idle_w * inside.run_time_s[0, 1]
    )


def task_s(work_s: float) -> float:
    """A task of an engine of two nodes, two of its four slots each: 96 of 64 MiB are used."""
    faults = (1 - 64 / 96) * 48 * MIB / 4096
    return 1.2 * work_s + 10 * (0.002 + 1e-4 * 1 * 2) + 20e6 * 2e-9 + faults * 2e-5


def test_on_an_engine_tasks_are_longer_by_formula_and_simulated(tmp_path: Path) -> None:
    """Exponential: 4 slots, 4 map tasks end at 4, 3, 2, 1 times their rate, 2 reduce at 2, 1."""
    cell, policy = setting(tmp_path, ENGINE, BY_PRIORITY), PolicyConfig("np", "dias")
    found = calculate(cell, policy).classes
    maps = 1 / 4 + 1 / 3 + 1 / 2 + 1
    high_s, low_s = (
        1 + maps * map_s + 1.5 * reduce_s
        for map_s, reduce_s in ((task_s(2.0), task_s(1.0)), (2.0, 1.0))
    )
    assert found["high"].execution_mean_s == pytest.approx(high_s)
    assert found["low"].execution_mean_s == pytest.approx(low_s)
    simulate_cell(cell, policy, replications=4, is_baseline=True, destination=tmp_path / "cell")
    summary = Summary.read(tmp_path / "cell/summary.json")
    for name in ("high", "low"):
        half = summary.classes[name].execution_mean_s_half_width_99
        assert half is not None
        assert summary.classes[name].execution_mean_s == pytest.approx(
            found[name].execution_mean_s, abs=2 * half
        )
    without = calculate(replace(cell, bound=None), policy).classes
    assert without["high"].execution_mean_s == pytest.approx(low_s)


def test_the_deflator_searches_with_protected_tasks(tmp_path: Path) -> None:
    limits = {"high": ClassLimits(0), "low": ClassLimits(20, drop_ratios=[0.0, 0.5])}
    cell, objective = setting(tmp_path, ENGINE, BY_PRIORITY), Objective("test", limits)
    found = deflate(cell, objective)
    by_formula = calculate(cell, PolicyConfig("np", "dias")).classes
    undropped = next(row for row in found.rows if row.drop_ratio["low"] == 0)
    for name in ("high", "low"):
        assert undropped.response_mean_s[name] == pytest.approx(by_formula[name].response_mean_s)
    without = deflate(replace(cell, bound=None), objective)
    assert all(
        inside.response_mean_s["high"] > outside.response_mean_s["high"]
        for inside, outside in zip(found.rows, without.rows, strict=True)
    )


def test_dropped_tasks_need_no_protection(tmp_path: Path) -> None:
    cell = setting(tmp_path, ENGINE, BY_PRIORITY)
    dropping = PolicyConfig("da", "dias", parameters={"drop_ratio": {"high": 0.5}})
    found = calculate(cell, dropping).classes["high"]
    expected_s = 1 + (1 / 2 + 1) * task_s(2.0) + task_s(1.0)
    assert found.execution_mean_s == pytest.approx(expected_s)


def test_rounds_on_shared_nodes_are_longer_as_a_whole(tmp_path: Path) -> None:
    rounds = replace(ROUNDS, distribution="deterministic")
    facts = JobClassConfig(cores=2, rounds=rounds, secure=replace(TASKS, working_set_mib=None))
    (job_class,) = facts_of(setting(tmp_path, PAIR, {"one": facts})).job_classes

    def inside_s(work_s: float) -> float:
        return 1.2 * work_s + 10 * (0.002 + 1e-4 * 2) + 20e6 * 2e-9

    plain_s = 1 + 2 * 2.0 + 1.0  # two waves of map tasks, one of reduce tasks
    expected = (1 + 2 * inside_s(2.0) + inside_s(1.0)) / plain_s
    assert job_class.protected("inside") == pytest.approx(expected)
    assert not job_class.runs_on("open")


def test_a_cluster_without_any_place_is_told(tmp_path: Path) -> None:
    facts = replace(SECURE, cores=4)
    cell = setting(tmp_path, PAIR, {"secure": facts, "plain": replace(facts, secure=None)})
    with pytest.raises(UserError, match=r"class secure: secure, but of the node types open, ins"):
        simulate_cell(
            cell, PolicyConfig("first", "fcfs"), replications=1, is_baseline=True,
            destination=tmp_path / "cell",
        )  # fmt: skip
