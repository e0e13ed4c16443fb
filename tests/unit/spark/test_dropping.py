import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.clusters import round_times as stage_times
from trimtab.errors import UserError
from trimtab.spark.dropping import drop, kept_partitions, kept_share, kept_tasks
from trimtab.spark.event_log import read_event_log
from trimtab.spark.session import Session


@given(tasks=st.integers(1, 500), per_mille=st.integers(0, 999))
def test_the_dropper_and_the_model_keep_as_many(tasks: int, per_mille: int) -> None:
    exact = -(-tasks * (1000 - per_mille) // 1000)
    assert kept_tasks(tasks, per_mille / 1000) == exact
    assert stage_times.kept_tasks(tasks, per_mille / 1000) == exact


@pytest.mark.parametrize("theta", [-0.1, 1.0, 1.5, float("nan")])
def test_a_drop_ratio_that_is_none(theta: float) -> None:
    with pytest.raises(UserError, match="drop ratio"):
        kept_tasks(50, theta)


def test_which_partitions_are_kept_depends_on_the_seed_alone() -> None:
    kept = kept_partitions(50, 0.2, seed=3)
    assert kept == kept_partitions(50, 0.2, seed=3) != kept_partitions(50, 0.2, seed=4)
    assert kept == sorted(set(kept)) and len(kept) == 40 and set(kept) <= set(range(50))


def test_the_share_is_that_of_the_tasks_that_run() -> None:
    assert kept_share(3, 0.5) == 2 / 3  # not 1/2


@pytest.mark.parametrize("theta", [0.0, 0.25, 0.55, 0.9])
def test_a_stage_launches_the_kept_tasks_and_no_other(spark: Session, theta: float) -> None:
    group = f"dropping {theta}"
    spark.context.setJobGroup(group, "")
    numbers = drop(spark.context.parallelize(range(200), 20), theta, seed=1)
    by_parity = numbers.map(lambda number: (number % 2, number)).groupByKey(4)
    found = sorted(
        number for _, group in drop(by_parity, 0.5, seed=1).collect() for number in group
    )
    spark.flush()
    log = read_event_log(spark.event_log).of_groups([group])
    launched = log.tasks.groupby("kind").size().to_dict()
    assert launched == {"map": kept_tasks(20, theta), "result": 2}
    assert log.stages.set_index("kind").tasks.to_dict() == launched
    dropped = {"map": 20 - kept_tasks(20, theta), "result": 2}
    assert log.stages.set_index("kind").dropped_tasks.to_dict() == dropped
    # Partition i of 20 holds the numbers from 10 i on; keys 0 and 1 are in partitions 0 and 1.
    kept_keys = {key for key in (0, 1) if key in kept_partitions(4, 0.5, seed=1)}
    assert found == [
        number
        for partition in kept_partitions(20, theta, seed=1)
        for number in range(10 * partition, 10 * partition + 10)
        if number % 2 in kept_keys
    ]
