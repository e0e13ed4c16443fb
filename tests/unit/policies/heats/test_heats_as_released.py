import pytest

from trimtab.errors import UserError
from trimtab.policies.base import NodeState, PendingTask, Placement, RunningTask
from trimtab.policies.heats_as_released import RELEASED_ROW, HeatsAsReleased

TASK = PendingTask(job=0, job_class=3, priority=0, cpu_milli=100, gpu_milli=0, memory_bytes=2)
ENERGY, PERFORMANCE = zip(*RELEASED_ROW.values(), strict=True)
EIGER, MOLESON, CERVINO, VULLY = range(4)


def policy(weight: float) -> HeatsAsReleased:
    return HeatsAsReleased(ENERGY, PERFORMANCE, [2, 1, 1, 1], energy_weight=weight)


def node(number: int, node_type: int) -> NodeState:
    return NodeState(number, node_type, 4000, 1 << 30, 4000, 0, 1 << 30)


ALL = [node(10, VULLY), node(11, CERVINO), node(12, MOLESON), node(13, EIGER)]


def test_the_score_is_not_normalised() -> None:
    """At equal weights performance decides alone: 18.7 / 2 against at most 0.93 / 2 of energy."""
    assert policy(0.5).score.tolist() == pytest.approx([9.35, 6.155, 7.42, 1.415])
    assert policy(0.5).place(TASK, ALL) == Placement(13, 1)
    assert policy(0.9).place(TASK, ALL) == Placement(11, 0)
    assert policy(0.97).place(TASK, ALL) == Placement(11, 0)
    assert policy(1.0).place(TASK, ALL) == Placement(10, 0)
    assert policy(1.0).place(TASK, []) is None


def test_a_task_moves_between_types_only() -> None:
    eigers = [node(13, EIGER), node(1, EIGER)]
    assert policy(0.0).place(TASK, eigers) == Placement(1, 1)
    assert policy(0.0).reconsider(RunningTask(TASK, 13, 1, 0.0), eigers) is None
    assert policy(0.0).reconsider(RunningTask(TASK, 10, 0, 0.0), ALL) == Placement(13, 1)
    assert policy(1.0).reconsider(RunningTask(TASK, 10, 0, 0.0), ALL) is None


def test_the_first_that_does_not_fit_holds_up_the_rest() -> None:
    assert HeatsAsReleased.head_of_line and HeatsAsReleased.free_migration


def test_what_makes_no_policy() -> None:
    with pytest.raises(UserError, match="one number a type"):
        HeatsAsReleased([1.0], [1.0, 2.0], [1])
    with pytest.raises(UserError, match="energy_weight"):
        policy(1.1)
