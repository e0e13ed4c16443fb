"""Dependences against a brute-force oracle, for the builder and for the decorator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import critical_path_s, predecessors
from sgx_ompss.graphs import cholesky, dot_product, matmul, stream

from trimtab.errors import UserError
from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.functions import TaskRecorder
from trimtab.secure_tasks.graphs.graph import TaskGraph

ACCESSES = st.lists(
    st.tuples(st.sets(st.integers(0, 4)), st.sets(st.integers(0, 4)), st.booleans()), max_size=12
)


def reachable(graph: TaskGraph) -> np.ndarray:
    """Whether task [j] comes after task [i], directly or not, (n, n)."""
    reach = np.zeros((len(graph), len(graph)), bool)
    for before, after in predecessors(graph):
        reach[before, after] = True
    for middle in range(len(graph)):
        reach |= np.outer(reach[:, middle], reach[middle])
    return reach


def closed(orders: np.ndarray) -> np.ndarray:
    for middle in range(len(orders)):
        orders = orders | np.outer(orders[:, middle], orders[middle])
    return orders


@given(ACCESSES)
@settings(deadline=None)
def test_tasks_are_ordered_as_far_as_one_writes_what_the_other_touches(
    accesses: list[tuple[set[int], set[int], bool]],
) -> None:
    """And by barriers. Two tasks are ordered if and only if a chain of such pairs leads there."""
    builder = GraphBuilder()
    phases: list[int] = []  # of the tasks that are no barriers
    numbers: list[int] = []
    phase = 0
    for reads, writes, barrier in accesses:
        if barrier:
            builder.barrier()
            phase += 1
        numbers.append(builder.add("t", 1.0, reads=reads, writes=writes))
        phases.append(phase)
    expected = np.zeros((len(accesses), len(accesses)), bool)
    for late, (reads, writes, _) in enumerate(accesses):
        for early in range(late):
            other_reads, other_writes, _ = accesses[early]
            conflict = writes & (other_reads | other_writes) or reads & other_writes
            expected[early, late] = bool(conflict) or phases[early] < phases[late]
    found = reachable(builder.graph())[np.ix_(numbers, numbers)]
    np.testing.assert_array_equal(found, closed(expected))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 7), st.integers(1, 4)), max_size=10))
@settings(deadline=None)
def test_views_are_the_same_data_as_far_as_they_share_memory(
    calls: list[tuple[bool, int, int]],
) -> None:
    memory = np.zeros(8)
    recorder = TaskRecorder()
    read = recorder.task(in_=["part"])(lambda part: None)
    write = recorder.task(inout=["part"])(lambda part: None)
    expected = np.zeros((len(calls), len(calls)), bool)
    for late, (writes, begin, length) in enumerate(calls):
        (write if writes else read)(memory[begin : begin + length])
        for early in range(late):
            wrote, other, other_length = calls[early]
            meet = max(begin, other) < min(begin + length, other + other_length, 8)
            expected[early, late] = (writes or wrote) and meet
    np.testing.assert_array_equal(reachable(recorder.graph()), closed(expected))


def test_functions_really_run_and_their_graph_comes_out() -> None:
    recorder = TaskRecorder()

    @recorder.task(out=["box"], target=("cpu", "gpu"))
    def fill(box: list[int], value: int) -> None:
        box.append(value)

    @recorder.task(in_=["left", "right"], secure=True)
    def joined(left: list[int], right: list[int]) -> list[int]:
        return left + right

    @recorder.task(inout=["box"])
    def double(box: list[int]) -> int:
        box[:] = [2 * value for value in box]
        return len(box)

    left: list[int] = []
    right: list[int] = []
    fill(left, 1)
    fill(right, value=2)
    both = joined(left, right)
    assert double(both) == 2
    recorder.taskwait()
    double(left)
    assert (both, left) == ([2, 4], [2])
    graph = recorder.graph()
    assert graph.kinds == ("fill", "joined", "double", "barrier")
    assert predecessors(graph) == [(0, 2), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert graph.secure.tolist() == [False, False, True, False, False, False]
    assert graph.target.tolist() == [3, 3, 1, 1, 3, 1]
    assert np.all(graph.work_s[[0, 1, 2, 3, 5]] > 0) and graph.work_s[4] == 0


def test_equal_numbers_are_no_data_and_a_task_in_a_task_is_a_part_of_it() -> None:
    recorder = TaskRecorder()

    @recorder.task(in_=["value"])
    def inner(value: int) -> int:
        return value

    @recorder.task(in_=["value"])
    def outer(value: int) -> int:
        return inner(value)

    assert inner(7) == outer(7) == 7
    assert len(recorder.graph()) == 2 and predecessors(recorder.graph()) == []


def test_mistakes_in_decorators_are_told() -> None:
    recorder = TaskRecorder()
    with pytest.raises(UserError, match=r"task <lambda>: no parameter y; it has: x"):
        recorder.task(in_=["y"])(lambda x: None)
    write = recorder.task(out=["x"])(lambda x: None)
    with pytest.raises(UserError, match=r"task <lambda>: x: int, which no function can write"):
        write(1)
    fail = recorder.task(in_=["x"])(lambda x: x.missing)
    with pytest.raises(AttributeError):
        fail([])
    assert len(recorder.graph()) == 0


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_applications_have_the_tasks_and_the_paths_that_their_algorithms_have(blocks: int) -> None:
    graph = cholesky(blocks, 4, flop_s=1.0)
    assert len(graph) == blocks * (blocks + 1) * (blocks + 2) // 6
    # potrf, trsm, syrk, potrf, ...: the next column's diagonal needs each of them.
    assert critical_path_s(graph, np.ones(len(graph))) == 3 * blocks - 2
    graph = matmul(blocks, 4, flop_s=1.0)
    assert len(graph) == blocks**3 and len(graph.successors) == blocks**2 * (blocks - 1)
    graph = dot_product(blocks, 4, flop_s=1.0)
    assert predecessors(graph) == [(block, blocks) for block in range(blocks)]
    loose = stream(blocks, 4, repeats=2, barriers=False, byte_s=1.0)
    strict = stream(blocks, 4, repeats=2, barriers=True, byte_s=1.0)
    assert len(loose) == 8 * blocks and len(strict) == len(loose) + 8
    assert loose.work_s.sum() == strict.work_s.sum()
    assert critical_path_s(loose, np.ones(len(loose))) == 8
