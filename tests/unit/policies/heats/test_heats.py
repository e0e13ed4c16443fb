"""HEATS' scores by hand, and what holds of them for any predictions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import UserError
from trimtab.policies.base import NodeState, PendingTask, Placement, RunningTask
from trimtab.policies.heats.policy import Heats, ScoredNode, best_of, random_weight

TASK = PendingTask(
    job=7, job_class=0, priority=0, cpu_milli=2000, gpu_milli=0, memory_bytes=1 << 29
)
# Figure 3.1: the AMD node takes 69 s and 565 J, the ARM node 8.785 times the time and 225 J.
TIME_S = [[[69.0], [606.0]]]
ENERGY_J = [[[565.0], [225.0]]]


def node(number: int, node_type: int = 0, has_image: bool = True) -> NodeState:
    return NodeState(number, node_type, 4000, 1 << 30, 4000, 0, 1 << 30, has_image)


AMD, ARM = node(0, 0), node(1, 1)


@pytest.mark.parametrize(
    ("weight", "amd", "arm"),
    [
        (0.0, 1.0, 69 / 606),
        (1.0, 0.0, 1 - 225 / 565),
        (0.618, 0.382, 0.618 * (1 - 225 / 565) + 0.382 * 69 / 606),
    ],
)
def test_scores_by_hand(weight: float, amd: float, arm: float) -> None:
    policy = Heats(TIME_S, ENERGY_J, [1, 1], energy_weight=weight)
    scores = policy.scores(TASK, [AMD, ARM])
    assert [score.score for score in scores] == pytest.approx([amd, arm], abs=1e-12)
    best = 0 if amd > arm else 1
    assert policy.place(TASK, [AMD, ARM]) == Placement(best, 0)


def test_the_largest_are_those_of_the_nodes_with_room() -> None:
    """With one candidate the energy counts for nothing and the performance in full."""
    policy = Heats(TIME_S, ENERGY_J, [1, 1], energy_weight=0.25)
    assert policy.scores(TASK, [ARM]) == [ScoredNode(0.75, 1, 0)]
    assert policy.place(TASK, []) is None


def test_equal_nodes_go_by_number() -> None:
    policy = Heats(TIME_S, ENERGY_J, [1, 1], energy_weight=0.5)
    assert policy.place(TASK, [node(5), node(3), node(4)]) == Placement(3, 0)


def test_level_is_the_highest_or_chosen() -> None:
    time_s, energy_j = [[[20.0, 10.0], [30.0, 30.0]]], [[[50.0, 100.0], [90.0, 90.0]]]
    nodes = [node(0, 0), node(1, 1)]
    fixed = Heats(time_s, energy_j, [2, 1], energy_weight=1.0)
    assert [(one.node, one.level) for one in fixed.scores(TASK, nodes)] == [(0, 1), (1, 0)]
    assert fixed.place(TASK, nodes) == Placement(1, 0)
    chosen = Heats(time_s, energy_j, [2, 1], energy_weight=1.0, choose_level=True)
    assert chosen.place(TASK, nodes) == Placement(0, 0)
    fastest = Heats(time_s, energy_j, [2, 1], energy_weight=0.0, choose_level=True)
    assert fastest.place(TASK, nodes) == Placement(0, 1)


def test_set_up_counts_where_the_image_is_missing() -> None:
    pull = [[[100.0, 100.0]], [[1.0, 1.0]]]
    plain = Heats([[[10.0], [20.0]]], [[[5.0], [5.0]]], [1, 1], energy_weight=0.0)
    aware = Heats([[[10.0], [20.0]]], [[[5.0], [5.0]]], [1, 1], energy_weight=0.0, set_up_s=pull)
    nodes = [node(0, 0, has_image=False), node(1, 1, has_image=True)]
    assert plain.place(TASK, nodes) == Placement(0, 0)
    assert aware.place(TASK, nodes) == Placement(1, 0)
    assert aware.scores(TASK, nodes)[0].score == pytest.approx((1 / 110) / (1 / 21))
    # Once it runs there, the first node's set-up is behind it.
    running = RunningTask(TASK, node=0, level=0, start_s=0.0)
    assert aware.reconsider(running, nodes) is None


def test_reconsider_moves_to_the_better_node_alone() -> None:
    policy = Heats(TIME_S, ENERGY_J, [1, 1], energy_weight=1.0)
    on_amd, on_arm = (RunningTask(TASK, number, 0, 0.0) for number in (0, 1))
    assert policy.reconsider(on_amd, [AMD, ARM]) == Placement(1, 0)
    assert policy.reconsider(on_arm, [AMD, ARM]) is None
    assert policy.reconsider(on_amd, [AMD]) is None
    assert policy.reconsider(on_amd, [AMD, node(2, 0)]) is None  # an equal one
    gain = 1 - 225 / 565
    for threshold, moves in ((gain - 1e-9, True), (gain + 1e-9, False)):
        picky = Heats(TIME_S, ENERGY_J, [1, 1], energy_weight=1.0, migration_gain=threshold)
        assert (picky.reconsider(on_amd, [AMD, ARM]) is not None) == moves


def test_reconsider_may_change_the_level_alone() -> None:
    policy = Heats([[[20.0, 10.0]]], [[[5.0, 9.0]]], [2], energy_weight=1.0, choose_level=True)
    assert policy.reconsider(RunningTask(TASK, 0, 1, 0.0), [node(0)]) == Placement(0, 0)


def test_weights_by_class_and_by_job() -> None:
    policy = Heats(np.ones((2, 1, 1)), np.ones((2, 1, 1)), [1], energy_weight=[0.25, 0.75])
    assert [policy.weight(replace(TASK, job_class=kind)) for kind in (0, 1)] == [0.25, 0.75]
    random = Heats(TIME_S, ENERGY_J, [1, 1], weight_seed=3)
    assert random.weight(TASK) == random_weight(3, 7)


def test_random_weights_are_uniform_and_by_the_seed() -> None:
    # The first outputs of SplitMix64 for seed 1234567, as its reference implementation prints.
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [random_weight(1234567, job) for job in range(3)] == [
        (value >> 11) * 2.0**-53 for value in known
    ]
    weights = np.array([random_weight(1, job) for job in range(20_000)])
    assert weights.min() >= 0 and weights.max() < 1
    counts = np.histogram(weights, bins=10, range=(0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 27.9  # chi-squared, 9 degrees, 99.9 %
    assert abs(np.corrcoef(weights[:-1], weights[1:])[0, 1]) < 0.03
    assert random_weight(1, 0) != random_weight(2, 0)


POSITIVE = st.floats(1e-3, 1e6)
TABLES = st.integers(1, 5).flatmap(
    lambda types: st.tuples(
        st.lists(POSITIVE, min_size=types, max_size=types),
        st.lists(POSITIVE, min_size=types, max_size=types),
        st.lists(st.integers(0, types - 1), min_size=1, max_size=8),
    )
)


@given(TABLES, st.floats(0, 1), st.randoms(use_true_random=False))
def test_any_predictions(tables: tuple[list, list, list], weight: float, random: object) -> None:
    times, energies, types = tables
    shape = (1, len(times), 1)
    nodes = [node(number, kind) for number, kind in enumerate(types)]

    def policy(energy_weight: float) -> Heats:
        time_s, energy_j = np.reshape(times, shape), np.reshape(energies, shape)
        return Heats(time_s, energy_j, np.ones(len(times)), energy_weight=energy_weight)

    scores = policy(weight).scores(TASK, nodes)
    assert all(0 <= one.score <= 1 for one in scores)
    placed = policy(weight).place(TASK, nodes)
    random.shuffle(nodes)  # type: ignore[attr-defined]
    assert policy(weight).place(TASK, nodes) == placed
    assert placed is not None and placed.node == best_of(scores).node
    fastest, thriftiest = policy(0.0).place(TASK, nodes), policy(1.0).place(TASK, nodes)
    assert fastest is not None and thriftiest is not None
    present = sorted(set(types))
    # Equal up to rounding: 1 / time may tie where the times differ in their last bit.
    assert times[types[fastest.node]] == pytest.approx(min(times[k] for k in present))
    energy = energies[types[thriftiest.node]]
    largest = max(energies[k] for k in present)
    assert energy == pytest.approx(min(energies[k] for k in present), abs=1e-15 * largest)
    # Who moves has gained: the place moved to is never left again for the one that was left.
    moved = policy(weight).reconsider(RunningTask(TASK, 0, 0, 0.0), nodes)
    if moved is not None:
        assert policy(weight).reconsider(RunningTask(TASK, moved.node, 0, 0.0), nodes) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"energy_j": [[[1.0]]]}, "shape"),
        ({"levels": [1]}, "shape"),
        ({"levels": [1, 2]}, "levels"),
        ({"levels": [0, 1]}, "levels"),
        ({"run_time_s": [[[1.0], [0.0]]]}, r"run_time_s\[0, 1, 0\]"),
        ({"energy_j": [[[1.0], [np.nan]]]}, r"energy_j\[0, 1, 0\]"),
        ({"energy_weight": 1.5}, "energy_weight"),
        ({"migration_gain": -0.1}, "migration_gain"),
        ({"tick_s": 0.0}, "tick_s"),
        ({"set_up_s": np.zeros((2, 2, 1))}, "set_up_s"),
        ({"set_up_j": np.full((2, 1, 2), -1.0)}, "set_up_j"),
    ],
)
def test_what_makes_no_policy(changes: dict, said: str) -> None:
    given = {"run_time_s": TIME_S, "energy_j": ENERGY_J, "levels": [1, 1], **changes}
    with pytest.raises(UserError, match=said):
        Heats(**given)


def test_padding_is_not_read() -> None:
    policy = Heats([[[5.0, np.nan]]], [[[5.0, 0.0]]], [1], choose_level=True)
    assert policy.place(TASK, [node(0)]) == Placement(0, 0)
