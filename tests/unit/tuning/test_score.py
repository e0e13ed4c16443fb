"""The score of a trial: the objectives of the thesis by hand, and what has no score."""

from typing import Any

import pytest

from trimtab.config import Configurations
from trimtab.config.groups.objective import Objective
from trimtab.config.validate import checked
from trimtab.errors import UserError
from trimtab.tuning.scoring.score import Failure, Score

METRICS = {
    "accuracy": 0.8,
    "training_s": 100.0,
    "training_j": 2_000.0,
    "inference_s": 0.5,
    "inference_j": 3.0,
}


def score(**keys: Any) -> Score:
    return Score(checked({"name": "mine", **keys}, Objective))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 0.8),
        ("accuracy_by_duration", 0.008),
        ("time_by_accuracy", -100 * 0.5 / 0.8),
        ("energy_by_accuracy", -2_000 * 3 / 0.8),
    ],
)
def test_the_objectives_of_the_thesis(name: str, expected: float) -> None:
    from config_files import PROJECT

    objective = Configurations(PROJECT / "conf", [f"objective={name}"]).root.objective
    assert Score(objective).of(METRICS) == pytest.approx(expected, rel=1e-15)


def test_an_objective_of_today_scores_by_accuracy() -> None:
    assert score().of(METRICS) == 0.8


def test_what_the_program_reports_counts_by_its_name() -> None:
    one = score(score="max(top_5, accuracy) - 0.1 * log(loss)")
    assert one.names == ["accuracy", "loss", "top_5"]
    assert one.of({**METRICS, "top_5": 0.9, "loss": 1.0}) == pytest.approx(0.9)


def test_an_unknown_metric_is_told_with_those_that_are_known() -> None:
    with pytest.raises(UserError) as caught:
        score(score="acuracy / training_s").of(METRICS)
    assert str(caught.value) == (
        "objective mine: score: unknown metric 'acuracy' in 'acuracy / training_s'; did you mean "
        "accuracy? expected one of accuracy, inference_j, inference_s, training_j, training_s"
    )
    with pytest.raises(UserError, match="none: nothing was measured"):
        score().check([])


@pytest.mark.parametrize(
    ("expression", "changes", "said"),
    [
        ("accuracy", {"accuracy": float("nan")}, "the metric accuracy is nan"),
        ("accuracy - loss", {"loss": float("inf")}, "the metric loss is inf"),
        ("1 / accuracy", {"accuracy": 0.0}, "of accuracy 0: float division by zero"),
        ("accuracy ** 0.5", {"accuracy": -1.0}, "of accuracy -1: math domain error"),
        ("accuracy * 1e308", {"accuracy": 100.0}, "of accuracy 100: it is inf"),
        ("exp(accuracy)", {"accuracy": 1e4}, "of accuracy 10000: math range error"),
    ],
)
def test_what_has_no_score_is_a_failure_with_its_reason(
    expression: str, changes: dict[str, float], said: str
) -> None:
    result = score(score=expression).of({**METRICS, **changes})
    assert isinstance(result, Failure)
    assert result.reason.endswith(said)


def test_a_metric_that_does_not_count_may_be_no_number() -> None:
    assert score().of({**METRICS, "loss": float("nan")}) == 0.8
