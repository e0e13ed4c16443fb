"""Seconds inside and what tasks share are the cost model's, in the simulator too."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgx_ompss.graphs import cholesky

from trimtab.config import Configurations
from trimtab.config.groups.enclave import CostRange, Enclave, PageCache, ThreadLimit
from trimtab.secure_tasks.cost import Bound, EnclaveTask, protected_s
from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.protected_graph import inside_s, limits_of
from trimtab.secure_tasks.simulation.machine import MOST_WORKERS, EnclaveMachine, WorkerKind
from trimtab.secure_tasks.simulation.simulate import simulate

CONF = Path(__file__).parents[3] / "conf"
CALL = CostRange(2e-6, 4e-6, "a test")
ENCLAVE = Enclave(
    "it",
    work_factor=CostRange(1.0, 1.2, "a test"),
    call_s=CALL,
    encryption_s_per_byte=CostRange(1e-10, 1e-9, "a test", typical=2e-10),
    contention_s=CostRange(0, 4e-6, "a test"),
)


def equal_tasks(count: int, work_s: float, kib: int) -> TaskGraph:
    graph = GraphBuilder()
    for _ in range(count):
        graph.add("it", work_s, bytes_in=kib * 1024, bytes_out=kib * 1024, secure=True)
    return graph.graph()


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.booleans(), st.sampled_from(Bound))
def test_each_task_alone_takes_what_the_model_says(
    works_s: list[float], encrypted: bool, bound: Bound
) -> None:
    graph = GraphBuilder()
    for number, work_s in enumerate(works_s):
        graph.add("it", work_s, bytes_in=number, bytes_out=7, secure=number % 2 == 0)
    seconds = inside_s(graph.graph(), ENCLAVE, encrypted=encrypted, bound=bound)
    for number, work_s in enumerate(works_s):
        share = 1 if encrypted else 0
        expected = protected_s(EnclaveTask(work_s, 1, number * share, 7 * share), 1, ENCLAVE, bound)
        assert seconds[number] == pytest.approx(work_s if number % 2 else expected)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_contention_of_equal_tasks_is_the_models(workers: int) -> None:
    graph = equal_tasks(200 * workers, 1e-3, 1)
    limits = limits_of(graph, ENCLAVE, workers, encrypted=True)
    machine = EnclaveMachine((WorkerKind("cpu", workers),), limits)
    costs_s = inside_s(graph, ENCLAVE, encrypted=True)
    run = simulate(graph, machine, "breadth_first", enclave_s=costs_s)
    task = EnclaveTask(1e-3, 1, 1024, 1024)
    # Only tasks of the beginning start beside fewer.
    assert run.makespan_s == pytest.approx(200 * protected_s(task, workers, ENCLAVE), rel=0.01)
    assert run.makespan_s > 200 * protected_s(task, 1, ENCLAVE)


def test_paging_of_equal_tasks_is_the_models() -> None:
    enclave = Enclave(
        "it", call_s=CALL, page_fault_s=CostRange(1e-5, 1e-5, "a test"),
        page_cache=PageCache(3.0, "a test"), thread_limit=ThreadLimit(4, "a test"),
    )  # fmt: skip
    graph = equal_tasks(800, 1e-2, 512)  # 1 MiB each, so that 4 have 4 of 3 MiB
    limits = limits_of(graph, enclave, 6, encrypted=False)
    assert limits.thread_limit == 4
    machine = EnclaveMachine((WorkerKind("cpu", 6),), limits)
    costs_s = inside_s(graph, enclave, encrypted=False)
    run = simulate(graph, machine, "breadth_first", enclave_s=costs_s)
    expected_s = 200 * protected_s(EnclaveTask(1e-2, working_set_bytes=2**20), 6, enclave)
    assert run.makespan_s == pytest.approx(expected_s, rel=0.01)


def test_a_graph_of_nothing_secure_shares_nothing() -> None:
    graph = cholesky(3, 8, flop_s=1e-9, secure=False)
    assert np.array_equal(inside_s(graph, ENCLAVE, encrypted=True), graph.work_s)
    limits = limits_of(graph, ENCLAVE, 4, encrypted=True)
    assert (limits.contention, limits.thread_limit) == ((1.0,), MOST_WORKERS)


def test_every_shipped_enclave_can_be_simulated() -> None:
    configurations = Configurations(CONF)
    graph = cholesky(4, 64, flop_s=1e-9)
    for path in (CONF / "enclave").glob("*.yaml"):
        enclave = configurations.option("enclave", path.stem)
        times = []
        for workers in (1, 4):
            limits = limits_of(graph, enclave, workers, encrypted=True)
            machine = EnclaveMachine((WorkerKind("cpu", workers),), limits)
            costs_s = inside_s(graph, enclave, encrypted=True)
            assert (costs_s >= graph.work_s).all()
            times.append(simulate(graph, machine, "enclave_aware", enclave_s=costs_s).makespan_s)
        assert times[1] < times[0], path.stem


def test_bounds_are_in_order() -> None:
    graph = equal_tasks(2, 1e-3, 1)
    low, typical, high = (
        inside_s(graph, replace(ENCLAVE), encrypted=True, bound=bound).sum()
        for bound in (Bound.LOW, Bound.TYPICAL, Bound.HIGH)
    )
    assert low < typical < high
