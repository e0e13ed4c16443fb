"""The Pareto front, the order of trials and the chosen one: by definition, on any scores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.groups.objective import Goal, Objective, OtherScore
from trimtab.tuning.hyperband import HyperBand, RecordedJob, RungJob, successive_halving
from trimtab.tuning.scoring.best import best_of, format_choice, front_in, marked
from trimtab.tuning.scoring.front import Scores, best_first, choice, front_of, never_better_since

NUMBER = st.integers(-3, 3).map(float)
FOUND = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.tuples(*[NUMBER] * width), min_size=1, max_size=12)
)


def dominates(one: Scores, other: Scores) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


@given(FOUND)
def test_the_front_is_what_none_dominates(found: list[Scores]) -> None:
    assert front_of(found) == [
        at for at, one in enumerate(found) if not any(dominates(other, one) for other in found)
    ]


@given(FOUND)
def test_the_order_is_front_after_front(found: list[Scores]) -> None:
    order = best_first(found)
    assert sorted(order) == list(range(len(found)))
    left = list(range(len(found)))
    while left:
        front = [left[at] for at in front_of([found[at] for at in left])]
        first, order = order[: len(front)], order[len(front) :]
        assert sorted(first) == front
        if len(found[0]) > 1:  # the best by the first score leads
            assert found[first[0]][0] == max(found[at][0] for at in front)
        left = [at for at in left if at not in front]


def test_one_score_is_sorted_and_the_earlier_of_equal_ones_leads() -> None:
    assert best_first([(1.0,), (3.0,), (1.0,), (2.0,)]) == [1, 3, 0, 2]
    assert best_first([]) == []


def test_a_few_of_a_front_cover_it() -> None:
    """Both ends, then the middle: not the neighbours of the first."""
    front = [(10.0 - at, float(at)) for at in range(11)]
    assert best_first(front)[:3] == [0, 10, 5]


@given(FOUND)
def test_trials_since_the_last_that_was_better(found: list[Scores]) -> None:
    since = never_better_since(found)
    improving = len(found) - 1 - since
    for at in range(improving, len(found)):
        earlier = any(one == found[at] or dominates(one, found[at]) for one in found[:at])
        assert earlier == (at > improving)


@given(FOUND, st.data())
def test_the_choice_keeps_the_bounds_that_can_be_kept(
    found: list[Scores], data: st.DataObject
) -> None:
    bounds = data.draw(st.tuples(*[st.none() | NUMBER] * len(found[0])))
    chosen = found[choice(found, bounds)]

    def keeps(one: Scores) -> bool:
        return all(b is None or a >= b for a, b in zip(one, bounds, strict=True))

    kept = [one for one in found if keeps(one)]
    assert keeps(chosen) or not kept
    free = [at for at, bound in enumerate(bounds) if bound is None]
    if kept and len(free) == 1:  # the best of what is left
        assert chosen[free[0]] == max(one[free[0]] for one in kept)


def test_the_choice_without_bounds_is_the_knee() -> None:
    knee = [(0.0, -100.0), (0.9, -110.0), (1.0, -200.0)]
    assert choice(knee, [None, None]) == 1
    assert choice(knee, [0.95, None]) == 2
    assert choice(knee, [None, -105.0]) == 0
    assert choice(knee, [None, -1.0]) == 0  # missed by all, and least by this one


TIME = Objective(
    "both", others=[OtherScore("training_s", Goal.MINIMISE)], bounds={"training_s": 5.0}
)


def row(trial: int, epochs: int, score: float | None, time_s: float = 0.0) -> dict[str, object]:
    return {
        "seed": 1, "trial": trial, "epochs": epochs, "data_fraction": 1.0, "score": score,
        "others": [] if score is None else [-time_s], "failure": "" if score else "broke",
    }  # fmt: skip


def test_the_best_has_the_largest_budget_and_keeps_the_bound() -> None:
    rows = [row(0, 1, 0.99, 0.1), row(0, 2, 0.9, 9.0), row(1, 2, 0.8, 4.0), row(2, 2, None),
            row(3, 2, 0.7, 4.5), row(4, 2, 0.6, 1.0)]  # fmt: skip
    assert [one["trial"] for one in front_in(rows)] == [0, 1, 4]
    assert best_of(rows, TIME)["trial"] == 1
    columns = marked(rows, TIME)
    assert [one["on_front"] for one in columns] == [False, True, True, False, False, True]
    assert [one["chosen"] for one in columns] == [False, False, True, False, False, False]
    assert columns[2]["values"] == '{"accuracy": 0.8, "training_s": 4.0}'
    assert columns[3]["values"] == ""
    said = format_choice({"accuracy": 0.8, "training_s": 4.0}, 3, TIME)
    assert said.endswith("with training_s of at most 5: the nearest to the best accuracy")
    assert "none with" in format_choice({"accuracy": 0.9, "training_s": 9.0}, 3, TIME)
    failed = marked([row(0, 2, None)], TIME)
    assert (failed[0]["on_front"], failed[0]["chosen"]) == (False, False)


@pytest.mark.parametrize("synchronous", [True, False])
def test_rungs_promote_from_the_front(synchronous: bool) -> None:
    """By the first score alone, the second and third would go on."""
    scores = [(0.1, -1.0), (0.8, -9.0), (0.9, -9.0), (0.7, -9.5), (0.2, -2.0), (0.3, -9.9)]
    past = [
        RecordedJob(RungJob(0, 0, trial), True, first, others=tuple(others))
        for trial, (first, *others) in enumerate(scores)
    ]
    band = HyperBand(successive_halving(3, 3, 6), 3, synchronous=synchronous, past=past)
    promoted = set()
    while (job := band.next_job()) is not None and job.trial is not None:
        promoted.add(job.trial)
        band.start(job, job.trial)
    assert promoted == {2, 0}
