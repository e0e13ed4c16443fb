"""What holds of every schedule, whatever the policy."""

import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_systems import System, systems

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType, Outage
from trimtab.errors import UserError
from trimtab.policies.dias import Dias
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.priority import Priority
from trimtab.simulation.result import Result
from trimtab.simulation.simulate import simulate

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def run(system: System) -> tuple[Result, pd.DataFrame, pd.DataFrame]:
    result = simulate(system.cluster, system.job_classes, system.trace, system.policy)
    assert result.jobs is not None and result.allocations is not None
    return result, result.jobs, result.allocations


def no_job_is_lost_or_finishes_twice(
    system: System, result: Result, jobs: pd.DataFrame, allocations: pd.DataFrame
) -> None:
    assert jobs["job"].is_unique
    assert set(jobs["job"]) <= set(system.trace["job"])
    assert len(jobs) + result.total.unfinished == len(system.trace)
    finished = allocations[allocations["end"] == "finished"]
    assert sorted(finished["job"]) == sorted(jobs["job"])
    by_job = allocations[allocations["end"].isin(["evicted", "failed"])].groupby("job").size()
    assert (jobs.set_index("job")["evictions"] == by_job.reindex(jobs["job"]).fillna(0)).all()


def secure_jobs_are_never_on_a_node_that_does_not_protect_them(
    system: System, result: Result, jobs: pd.DataFrame, allocations: pd.DataFrame
) -> None:
    """Neither to begin with nor after a move, an eviction or a failure."""
    names = [system.cluster.node_types[kind].name for kind in system.cluster.type_of_node]
    classes = {job_class.name: job_class for job_class in system.job_classes}
    class_of = system.trace.set_index("job")["job_class"]
    for job, node in zip(allocations["job"], allocations["node"], strict=True):
        assert classes[class_of[job]].runs_on(names[node])


def test_nobody_is_evicted_for_a_job_that_could_not_run_there_anyhow() -> None:
    """The secure job is the more important, and its node has failed: it waits for that."""
    types = (NodeType("open", 1000, 8, 1.0, (Level(1.0, 1.0),)),
             NodeType("inside", 1000, 8, 1.0, (Level(1.0, 1.0),)))  # fmt: skip
    cluster = Cluster(types, (1, 1), (Outage(1, 0.5, 3.0),))
    classes = [JobClass("plain"), JobClass("secure", protection={"inside": 2.0})]
    trace = pd.DataFrame(
        {
            "job": [0, 1], "arrival_s": [0.0, 1.0], "job_class": ["plain", "secure"],
            "priority": [0, 1], "cpu_milli": 1000, "gpu_milli": 0, "memory_bytes": 1,
            "work_s": [5.0, 2.0],
        }
    )  # fmt: skip
    for reference in (False, True):
        result = simulate(cluster, classes, trace, Priority("repeat"), reference=reference)
        assert result.jobs is not None
        jobs = result.jobs.set_index("job")
        assert jobs["evictions"].tolist() == [0, 0]
        assert jobs["finish_s"].to_dict() == {0: 5.0, 1: 3.0 + 2.0 * 2.0}


def test_a_secure_job_that_only_other_nodes_are_large_enough_for_is_told() -> None:
    types = (NodeType("large", 4000, 8, 1.0, (Level(1.0, 1.0),)),
             NodeType("inside", 1000, 8, 1.0, (Level(1.0, 1.0),)))  # fmt: skip
    trace = pd.DataFrame(
        {
            "job": [0], "arrival_s": [0.0], "job_class": ["secure"], "priority": [0],
            "cpu_milli": [2000], "gpu_milli": [0], "memory_bytes": [1], "work_s": [1.0],
        }
    )  # fmt: skip
    secure = JobClass("secure", protection={"inside": 1.0})
    with pytest.raises(UserError, match=r"2000 mCPU.* more than any node .* with an enclave"):
        simulate(Cluster(types, (1, 1)), [secure], trace, FirstComeFirstServed())


def causes_come_before_effects(
    system: System, result: Result, jobs: pd.DataFrame, allocations: pd.DataFrame
) -> None:
    assert (jobs["arrival_s"] <= jobs["start_s"]).all()
    assert (jobs["start_s"] <= jobs["finish_s"]).all()
    assert jobs["finish_s"].is_monotonic_increasing
    assert (allocations["start_s"] <= allocations["end_s"]).all()
    ready = allocations.dropna(subset="ready_s")
    assert ((ready["start_s"] <= ready["ready_s"]) & (ready["ready_s"] <= ready["end_s"])).all()
    parts = jobs["execution_s"] + jobs["wasted_s"]
    assert (parts <= jobs["response_s"] + 1e-9).all()
    assert (jobs["set_up_s"] <= parts + 1e-9).all()
    assert (jobs["sprint_s"] <= parts + 1e-9).all()


def fit_gpus(demands: list[int], node_type: NodeType) -> bool:
    """Try all ways to put the demands on a node's GPUs."""
    shares = [demand for demand in demands if 0 < demand < 1000]
    whole = sum(math.ceil(demand / 1000) for demand in demands if demand >= 1000)
    free = [node_type.gpu_slices] * (node_type.gpu_milli // 1000 - whole)

    def fit(left: list[int]) -> bool:
        if not left:
            return True
        slices = math.ceil(left[0] * node_type.gpu_slices / 1000)
        for gpu in range(len(free)):
            if free[gpu] >= slices:
                free[gpu] -= slices
                if fit(left[1:]):
                    return True
                free[gpu] += slices
        return False

    return node_type.gpu_milli // 1000 >= whole and fit(sorted(shares, reverse=True))


def no_node_is_given_out_twice_or_while_down(
    system: System, result: Result, jobs: pd.DataFrame, allocations: pd.DataFrame
) -> None:
    sizes = system.trace.set_index("job")
    kinds = system.cluster.type_of_node
    for node, of_node in allocations.groupby("node"):
        node_type = system.cluster.node_types[kinds[node]]
        for start_s in of_node["start_s"]:
            there = of_node[(of_node["start_s"] <= start_s) & (of_node["end_s"] > start_s)]
            asked = sizes.loc[there["job"]]
            assert asked["cpu_milli"].sum() <= node_type.cpu_milli
            assert fit_gpus(asked["gpu_milli"].tolist(), node_type)
            assert asked["memory_bytes"].sum() <= node_type.memory_bytes
        for outage in system.cluster.outages:
            if outage.node == node:
                apart = (of_node["end_s"] <= outage.down_s) | (of_node["start_s"] >= outage.up_s)
                assert apart.all()


def energy_adds_up(
    system: System, result: Result, jobs: pd.DataFrame, allocations: pd.DataFrame
) -> None:
    nodes = result.nodes
    if result.total.unfinished == 0:
        assert jobs["energy_j"].sum() == pytest.approx(nodes["active_energy_j"].sum(), rel=1e-9)
    lasted = (allocations["end_s"] - allocations["start_s"]) * allocations["cpu_milli"] * 1e-3
    busy = lasted.groupby(allocations["node"]).sum().reindex(nodes["node"]).fillna(0.0)
    assert np.allclose(nodes["busy_core_s"], busy, rtol=1e-9)
    idle_w = [system.cluster.node_types[kind].idle_w for kind in system.cluster.type_of_node]
    up_s = result.total.makespan_s - nodes["down_s"]
    assert np.allclose(nodes["idle_energy_j"], idle_w * up_s)


def gpu_time_adds_up(
    system: System, result: Result, jobs: pd.DataFrame, allocations: pd.DataFrame
) -> None:
    nodes = result.nodes
    types = [system.cluster.node_types[kind] for kind in system.cluster.type_of_node]
    up_s = result.total.makespan_s - nodes["down_s"]
    gpus = np.array([node_type.gpu_milli for node_type in types]) / 1000
    assert np.allclose(nodes["busy_gpu_s"] + nodes["free_gpu_s"], gpus * up_s)
    assert (nodes["fragmented_gpu_s"] <= nodes["free_gpu_s"] + 1e-9).all()
    demands = system.trace.set_index("job")["gpu_milli"].loc[allocations["job"]]
    held = [
        math.ceil(demand / 1000)
        if demand >= 1000
        else math.ceil(demand * types[node].gpu_slices / 1000) / types[node].gpu_slices
        for demand, node in zip(demands, allocations["node"], strict=True)
    ]
    lasted = (allocations["end_s"] - allocations["start_s"]) * held
    busy = lasted.groupby(allocations["node"]).sum().reindex(nodes["node"]).fillna(0.0)
    # Free slices are rounded down to thousandths.
    assert (np.abs(nodes["busy_gpu_s"] - busy) <= 1.01e-3 * gpus * up_s + 1e-9).all()
    if (demands % 1000 == 0).all():
        assert not nodes["fragmented_gpu_s"].any()


PROPERTIES = (
    no_job_is_lost_or_finishes_twice,
    secure_jobs_are_never_on_a_node_that_does_not_protect_them,
    causes_come_before_effects,
    no_node_is_given_out_twice_or_while_down,
    energy_adds_up,
    gpu_time_adds_up,
)


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(systems(), st.integers(1, 5))
def test_every_schedule_holds_and_chunks_and_repeats_change_nothing(
    system: System, size: int
) -> None:
    result, jobs, allocations = run(system)
    for holds in PROPERTIES:
        holds(system, result, jobs, allocations)
    chunks = (system.trace[at : at + size] for at in range(0, len(system.trace), size))
    again = simulate(system.cluster, system.job_classes, chunks, system.policy)
    pd.testing.assert_frame_equal(jobs, again.jobs)
    pd.testing.assert_frame_equal(allocations, again.allocations)


def single_queue(policy: Priority | FirstComeFirstServed, rows: list[tuple]) -> pd.DataFrame:
    """Jobs of (arrival, priority, work) on one server."""
    trace = pd.DataFrame(rows, columns=["arrival_s", "priority", "work_s"])
    trace = trace.assign(job_class="a", cpu_milli=1000, gpu_milli=0, memory_bytes=0)
    trace["job"] = np.arange(len(trace))
    server = NodeType("server", 1000, 1, 0.0, (Level(1.0, 1.0),))
    jobs = simulate(Cluster((server,), (1,)), [JobClass("a")], trace, policy).jobs
    assert jobs is not None
    return jobs


eighths = st.integers(0, 40).map(lambda step: step / 8)
queues = st.lists(st.tuples(eighths, st.integers(0, 2), eighths), min_size=1, max_size=25).map(
    lambda rows: sorted(rows, key=lambda row: row[0])
)


@settings(max_examples=60)
@given(queues, st.sampled_from(["none", "resume"]))
def test_the_server_never_rests_while_a_job_waits(rows: list[tuple], preemption: str) -> None:
    busy_until_s = 0.0
    for arrival_s, _, work_s in rows:
        busy_until_s = max(busy_until_s, arrival_s) + work_s
    for policy in (Priority(preemption), FirstComeFirstServed()):
        jobs = single_queue(policy, rows)
        assert jobs["finish_s"].max() == busy_until_s
        assert jobs["execution_s"].sum() == sum(row[2] for row in rows)


@settings(max_examples=60)
@given(queues, st.sampled_from(["none", "repeat", "resume"]))
def test_first_come_first_served_within_a_priority(rows: list[tuple], preemption: str) -> None:
    jobs = single_queue(Priority(preemption), rows)
    for _, of_one in jobs.sort_values("job").groupby("priority"):
        assert of_one["start_s"].is_monotonic_increasing
        assert of_one["finish_s"].is_monotonic_increasing


@settings(max_examples=60)
@given(queues, st.sampled_from(["none", "repeat", "resume"]), st.randoms(use_true_random=False))
def test_the_order_of_jobs_that_arrive_together_moves_nobody_else(
    rows: list[tuple], preemption: str, random: object
) -> None:
    # Of equals that arrive together one is served first; which, is all that the order decides.
    keyed = defaultdict(list)
    for row in rows:
        keyed[row[0]].append(row)
    permuted = []
    for arrival_s in sorted(keyed):
        group = keyed[arrival_s]
        random.shuffle(group)  # type: ignore[attr-defined]
        permuted += group
    # Equal work among those of one instant and priority: then no one can tell them apart.
    work = {(row[0], row[1]): row[2] for row in rows}
    first, second = (
        single_queue(
            Priority(preemption), [(row[0], row[1], work[row[0], row[1]]) for row in order]
        )
        for order in (rows, permuted)
    )
    columns = ["arrival_s", "priority", "start_s", "finish_s", "wasted_s"]
    a, b = (jobs[columns].sort_values(columns, ignore_index=True) for jobs in (first, second))
    pd.testing.assert_frame_equal(a, b)


def test_dropping_tasks_and_sprinting_waste_nothing() -> None:
    rows = [(0.0, 0, 4.0), (1.0, 2, 1.0), (1.5, 1, 1.0)]
    for policy in (Priority("none"), Dias(timeout_s={"a": 0.5})):
        assert single_queue(policy, rows)["wasted_s"].sum() == 0
    evicted = single_queue(Priority("repeat"), rows).set_index("job").loc[0]
    assert (evicted["wasted_s"], evicted["evictions"], evicted["finish_s"]) == (1.0, 1, 7.0)


def test_a_failed_node_loses_work_that_an_evicted_job_would_keep() -> None:
    server = NodeType("server", 1000, 1, 10.0, (Level(1.0, 1.0),))
    trace = pd.DataFrame(
        [(0, 0.0, "a", 0, 1000, 0, 0, 4.0)],
        columns=[
            *("job", "arrival_s", "job_class", "priority"),
            *("cpu_milli", "gpu_milli", "memory_bytes", "work_s"),
        ],
    )
    cluster = Cluster((server,), (1,), (Outage(0, 3.0, 5.0),))
    result = simulate(cluster, [JobClass("a")], trace, Priority("resume"))
    assert result.jobs is not None
    job = result.jobs.iloc[0]
    assert (job["finish_s"], job["wasted_s"], job["execution_s"]) == (9.0, 3.0, 4.0)
    assert result.nodes["down_s"].tolist() == [2.0]
    assert result.nodes["idle_energy_j"].tolist() == [10.0 * 7.0]
    never = simulate(
        Cluster((server,), (1,), (Outage(0, 3.0, math.inf),)), [JobClass("a")], trace, Priority()
    )
    assert never.total.unfinished == 1
