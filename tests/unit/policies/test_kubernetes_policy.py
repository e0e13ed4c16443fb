"""The default scheduler's points, by hand and by a second way; its search; who is taken."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import UserError
from trimtab.policies.base import NodeState, PendingTask, Placement
from trimtab.policies.kubernetes import Kubernetes, nodes_to_find, score

GIB = 1 << 30


def task(cpu_milli: int = 1000, memory_bytes: int = GIB) -> PendingTask:
    return PendingTask(0, 0, 0, cpu_milli, 0, memory_bytes)


def node(
    number: int, cpu: int = 4000, memory: int = 8 * GIB, cpu_used: int = 0, memory_used: int = 0
) -> NodeState:
    return NodeState(number, 0, cpu, memory, cpu - cpu_used, 0, memory - memory_used)


@pytest.mark.parametrize(
    ("asked", "state", "points"),
    [
        # least: (75 + 87) // 2 = 81; balanced: |1/4 - 1/8| / 2 = 0.0625, 93.75
        (task(), node(0), 81 + 93),
        # least: (25 + 37) // 2 = 31; balanced: |3/4 - 5/8| / 2, 93.75
        (task(), node(0, cpu_used=2000, memory_used=4 * GIB), 31 + 93),
        # a full node: least 0, balanced 100
        (task(4000, 8 * GIB), node(0), 100),
        # all of the CPU, none of the memory: (0 + 97) // 2 = 48 with the default of 200 MiB,
        # balanced with the true 0: 50
        (task(4000, 0), node(0), 48 + 50),
        # nothing asked for: (97 + 97) // 2, balanced 100
        (task(0, 0), node(0), 97 + 100),
        # the default does not fit: 0 for that half
        (task(0, GIB), node(0, cpu_used=4000), (0 + 87) // 2 + int((1 - 0.4375) * 100)),
    ],
)
def test_points_by_hand(asked: PendingTask, state: NodeState, points: int) -> None:
    assert score(asked, state) == points


@given(
    st.integers(1, 256_000),
    st.integers(1, 1 << 44),
    st.fractions(0, 1),
    st.fractions(0, 1),
    st.fractions(0, 1),
    st.fractions(0, 1),
)
def test_points_in_exact_arithmetic(
    cpu: int, memory: int, used: Fraction, used_memory: Fraction, cpu_of: Fraction, mem_of: Fraction
) -> None:
    cpu_used, memory_used = int(cpu * used), int(memory * used_memory)
    asked = task(int((cpu - cpu_used) * cpu_of), int((memory - memory_used) * mem_of))
    given_points = score(asked, node(0, cpu, memory, cpu_used, memory_used))
    free = Fraction(cpu - cpu_used - (asked.cpu_milli or 100), cpu)
    free_memory = Fraction(memory - memory_used - (asked.memory_bytes or 200 << 20), memory)
    least = (max(0, free * 100 // 1) + max(0, free_memory * 100 // 1)) // 2
    difference = Fraction(cpu_used + asked.cpu_milli, cpu) - Fraction(
        memory_used + asked.memory_bytes, memory
    )
    balanced = (1 - abs(difference) / 2) * 100
    assert 0 <= given_points <= 200
    assert abs(given_points - least - (balanced // 1)) <= (abs(balanced - round(balanced)) < 1e-9)


@pytest.mark.parametrize(
    ("nodes", "found"),
    [(1, 1), (99, 99), (100, 100), (250, 120), (1000, 420), (5000, 500), (6000, 300), (10000, 500)],
)
def test_how_many_are_looked_for(nodes: int, found: int) -> None:
    """The documented example: 10 % of 5,000 nodes; and Kubernetes' own unit tests' figures."""
    assert nodes_to_find(nodes) == found


def test_the_emptiest_wins_and_equals_go_by_number() -> None:
    policy = Kubernetes(3, [2])
    nodes = [node(2), node(1), node(0, cpu_used=1000)]
    assert policy.place(task(), nodes) == Placement(1, 1)
    assert policy.place(task(), []) is None


def test_searches_go_round() -> None:
    policy = Kubernetes(250, [1])
    nodes = [node(number) for number in range(250)]
    starts = []
    for _ in range(4):
        starts.append(policy.next_node)
        policy.place(task(), nodes)
    assert starts == [0, 120, 240, 110]
    assert policy.next_node == 230
    # From 230 on: 230 ... 249, 0 ... 99. Node 100 would be best but is not among them.
    worse = [node(number, cpu_used=0 if number == 100 else 2000) for number in range(250)]
    placed = policy.place(task(), worse)
    assert placed == Placement(0, 0)
    assert policy.next_node == 100
    assert policy.place(task(), worse) == Placement(100, 0)


def test_nodes_without_room_are_passed_over() -> None:
    policy = Kubernetes(250, [1])
    policy.place(task(), [node(number) for number in range(0, 250, 2)])
    assert policy.next_node == 239  # after the 120th with room, node 238
    policy.place(task(), [node(number) for number in range(119)])
    assert policy.next_node == 239  # no 120th: all were looked at


def test_no_cluster() -> None:
    with pytest.raises(UserError, match="node_count"):
        Kubernetes(0, [1])
