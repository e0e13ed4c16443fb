"""The compiled simulator does what the plain one does, and what no schedule can do otherwise."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graphs import critical_path_s, graphs, machines, predecessors
from reference_simulation import ReferenceSimulation

from trimtab.errors import UserError
from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.simulation.machine import EnclaveLimits, EnclaveMachine, WorkerKind
from trimtab.secure_tasks.simulation.simulate import (
    SimulatedRun,
    policy_names,
    simulate,
)

POLICIES = ("breadth_first", "enclave_aware", "work_first")
QUIET = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
every_policy = pytest.mark.parametrize("policy", POLICIES)


def test_the_policies_are_the_modules_of_the_package() -> None:
    assert policy_names() == list(POLICIES)


@every_policy
@QUIET
@given(graphs(), machines(), st.sampled_from((1.0, 2.0)))
def test_every_task_runs_when_and_where_the_reference_has_it(
    policy: str, graph: TaskGraph, machine: EnclaveMachine, factor: float
) -> None:
    enclave_s = graph.work_s * factor + 0.125
    reference = ReferenceSimulation(graph, machine, policy, graph.work_s, enclave_s).run()
    run = simulate(graph, machine, policy, enclave_s=enclave_s, keep_tasks=True)
    assert run.tasks is not None
    found = list(run.tasks[["start_s", "end_s", "worker"]].itertuples(index=False, name=None))
    np.testing.assert_allclose(
        np.reshape(found, (-1, 3)), np.reshape(reference, (-1, 3)), rtol=1e-12
    )


@every_policy
@QUIET
@given(graphs(), machines())
def test_dependences_devices_and_the_thread_limit_are_kept(
    policy: str, graph: TaskGraph, machine: EnclaveMachine
) -> None:
    run = simulate(graph, machine, policy, keep_tasks=True)
    assert run.tasks is not None
    start_s, end_s = run.tasks["start_s"].to_numpy(), run.tasks["end_s"].to_numpy()
    worker = run.tasks["worker"].to_numpy()
    assert all(end_s[before] <= start_s[after] for before, after in predecessors(graph))
    bits = machine.device_bits(graph)
    assert np.all(bits[worker] & graph.target)
    for number in range(machine.count):
        own = np.flatnonzero(worker == number)
        own = own[np.lexsort((end_s[own], start_s[own]))]
        assert np.all(end_s[own][:-1] <= start_s[own][1:])
        np.testing.assert_allclose(run.busy_s[number], np.sum(end_s[own] - start_s[own]))
    lasting = graph.secure & (end_s > start_s)
    for now_s in start_s[lasting]:
        inside = np.count_nonzero(lasting & (start_s <= now_s) & (now_s < end_s))
        assert inside <= machine.enclave.thread_limit
    assert run.makespan_s == end_s.max(initial=0.0)
    idle_s = machine.count * run.makespan_s - run.busy_s.sum()
    assert run.energy_j == pytest.approx(3.0 * run.busy_s.sum() + 1.0 * idle_s)


@every_policy
@QUIET
@given(graphs(("cpu",)), st.integers(1, 5))
def test_equal_workers_without_limits_are_within_grahams_bound(
    policy: str, graph: TaskGraph, workers: int
) -> None:
    run = _on(graph, workers, policy)
    lower_s = max(critical_path_s(graph, graph.work_s), graph.work_s.sum() / workers)
    assert lower_s - 1e-9 <= run.makespan_s <= (2 - 1 / workers) * lower_s + 1e-9
    assert run.makespan_s <= graph.work_s.sum() + 1e-9
    assert run.busy_s.sum() == pytest.approx(graph.work_s.sum())
    if workers == 1:
        assert run.makespan_s == pytest.approx(graph.work_s.sum())


def _on(graph: TaskGraph, workers: int, policy: str) -> SimulatedRun:
    return simulate(graph, EnclaveMachine((WorkerKind("cpu", workers),)), policy)


def _independent(count: int, *, secure: bool, working_set_bytes: int = 0) -> GraphBuilder:
    graph = GraphBuilder()
    for _ in range(count):
        graph.add("work", 1.0, secure=secure, working_set_bytes=working_set_bytes)
    return graph


@every_policy
def test_contention_counts_the_task_itself(policy: str) -> None:
    machine = EnclaveMachine((WorkerKind("cpu", 3),), EnclaveLimits(contention=(1.0, 1.5, 2.0)))
    run = simulate(_independent(3, secure=True).graph(), machine, policy)
    assert sorted(run.busy_s) == [1.0, 1.5, 2.0]
    assert simulate(_independent(3, secure=False).graph(), machine, policy).makespan_s == 1.0


@every_policy
def test_the_thread_limit_holds_secure_tasks_alone(policy: str) -> None:
    machine = EnclaveMachine((WorkerKind("cpu", 4),), EnclaveLimits(thread_limit=2))
    assert simulate(_independent(4, secure=True).graph(), machine, policy).makespan_s == 2.0
    assert simulate(_independent(4, secure=False).graph(), machine, policy).makespan_s == 1.0


def test_paging_stretches_what_starts_last_and_our_policy_waits_where_that_is_shorter() -> None:
    graph = _independent(2, secure=True, working_set_bytes=6).graph()
    costly = EnclaveMachine((WorkerKind("cpu", 2),), EnclaveLimits(2, (1.0,), 6.0, 4.0))
    assert simulate(graph, costly, "breadth_first").makespan_s == 3.0  # 1 + 4 x 6 / 12
    assert simulate(graph, costly, "enclave_aware").makespan_s == 2.0
    cheap = EnclaveMachine((WorkerKind("cpu", 2),), EnclaveLimits(2, (1.0,), 6.0, 1.0))
    assert simulate(graph, cheap, "enclave_aware").makespan_s == 1.5


def test_our_policy_begins_with_the_critical_path() -> None:
    graph = GraphBuilder()
    for _ in range(4):
        graph.add("short", 1.0)
    for _ in range(4):
        graph.add("chain", 1.0, reads=["x"], writes=["x"])
    assert _on(graph.graph(), 2, "enclave_aware").makespan_s == 4.0
    assert _on(graph.graph(), 2, "breadth_first").makespan_s == 6.0


def test_a_faster_device_and_a_task_that_no_worker_may_run() -> None:
    graph = GraphBuilder()
    graph.add("kernel", 4.0, target=["gpu"])
    machine = EnclaveMachine((WorkerKind("cpu", 2), WorkerKind("gpu", 1, speed=4.0)))
    assert simulate(graph.graph(), machine, "work_first").busy_s.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(UserError, match=r"task 0: target: may run on gpu: no worker"):
        _on(graph.graph(), 2, "work_first")


@pytest.mark.parametrize(
    ("given_s", "message"),
    [([1.0], "shape"), ([1.0, -1.0], "task 1: -1"), ([np.nan, 1.0], "task 0: nan")],
)
def test_costs_that_are_none_are_refused(given_s: list[float], message: str) -> None:
    graph = _independent(2, secure=True).graph()
    with pytest.raises(UserError, match=f"enclave_s: {message}"):
        simulate(graph, EnclaveMachine((WorkerKind("cpu", 1),)), "work_first", enclave_s=given_s)
    with pytest.raises(UserError, match=r"policy: 'x' given, expected one of breadth_first"):
        _on(graph, 1, "x")
