"""The time that the stage asks for is that of every trial on every rung."""

from dataclasses import replace

import pytest
from shipped_configurations import SHIPPED

from trimtab.config import stages
from trimtab.errors import UserError
from trimtab.tuning.search.duration import longest_s

TIMEOUT_S = 600.0


def stage(tuner: str, workload: str = "lenet5_short") -> stages.TuneStage:
    return stages.TuneStage(
        workload=replace(SHIPPED.option("workload", workload), timeout_s=TIMEOUT_S),
        hardware=SHIPPED.option("hardware", "this_machine"),
        tuner=SHIPPED.option("tuner", tuner),
        objective=SHIPPED.option("objective", "accuracy"),
        seeds=2,
        workers=1,
    )


@pytest.mark.parametrize(
    ("tuner", "runs"),
    [
        ("arbitrary", 1),
        ("random_search", 10),
        ("tune_v1", 3 + 1 + 2),  # three levels: brackets of 3 -> 1 trials and of 2
        ("pipetune", 3 + 1 + 2),
    ],
)
def test_every_run_of_every_seed_counts(tuner: str, runs: int) -> None:
    assert longest_s(stage(tuner)) == 2 * runs * TIMEOUT_S


def test_two_searches_count_both() -> None:
    onefold = longest_s(stage("edgetune", "lenet5_for_raspberry_pi"))
    first = SHIPPED.option("workload", "lenet5_for_raspberry_pi").tuning.epochs
    assert first.most > first.least
    assert longest_s(stage("edgetune_hierarchical", "lenet5_for_raspberry_pi")) > onefold


def test_a_workload_without_tuning_is_refused() -> None:
    given = stage("tune_v1")
    with pytest.raises(UserError, match="tuning"):
        longest_s(replace(given, workload=replace(given.workload, tuning=None)))
