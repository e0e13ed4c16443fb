"""The objectives and bounds of `trimtab tune`, as typed."""

import pytest
from shipped_configurations import SHIPPED

from trimtab.cli.tuning.objectives import objective_of
from trimtab.config.groups.objective import Goal
from trimtab.errors import UserError


def test_one_is_its_file() -> None:
    assert objective_of(SHIPPED, "loss", []) == SHIPPED.option("objective", "loss")


def test_several_are_one_with_bounds_by_name_or_score() -> None:
    found = objective_of(SHIPPED, "accuracy, time", ["accuracy=0.9", "training_s=60"])
    assert (found.name, found.score, found.goal) == ("accuracy_and_time", "accuracy", Goal.MAXIMISE)
    assert [(one.score, one.goal) for one in found.others] == [("training_s", Goal.MINIMISE)]
    assert found.bounds == {"accuracy": 0.9, "training_s": 60.0}
    more = objective_of(SHIPPED, "accuracy_and_time,size", [])
    assert [one.score for one in more.others] == ["size_bytes", "training_s"]
    assert objective_of(SHIPPED, "accuracy,time", []) == SHIPPED.option(
        "objective", "accuracy_and_time"
    )


@pytest.mark.parametrize(
    ("names", "bounds", "says"),
    [
        ("accuracy,tme", [], "tme"),
        ("accuracy,accuracy", [], "given twice"),
        ("accuracy", ["accuracy=0.9"], "no score of several"),
        ("accuracy,time", ["tim=9"], "did you mean time?"),
        ("accuracy,time", ["time"], "expected a number"),
        ("accuracy,time", ["time=nan"], "a finite number"),
    ],
)
def test_mistakes_are_named(names: str, bounds: list[str], says: str) -> None:
    with pytest.raises(UserError) as failed:
        objective_of(SHIPPED, names, bounds)
    assert says in str(failed.value)
