"""What a search learns from an earlier one's table of trials."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from spaces import choices, tuning
from test_tune import request

from trimtab.config.groups.objective import Goal, Objective, OtherScore
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.earlier import earlier_trials
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study

SPACE = SearchSpace(
    tuning(
        epochs={"least": 1, "most": 4},
        training={
            "rate": {"low": 0.0, "high": 1.0, "default": 0.5},
            "optimizer": choices("adam", "sgd"),
            "momentum": {**choices(0, 1), "when": {"training.optimizer": ["sgd"]}},
        },
    )
)
ACCURACY = Objective("accuracy")
BOTH = Objective("both", others=[OtherScore("training_s", Goal.MINIMISE)])


def table(folder: Path, *rows: dict[str, Any]) -> Path:
    every = [
        {
            **dict.fromkeys(TRIALS.names), "settings": "{}", "wall_s": 1.0, "seed": 1, "fold": 1,
            "rung": 0, "trial": number,
            "epochs": 4, "data_fraction": 1.0, "score": 0.5, "failure": "",
            "energy_source": "unknown", "values": '{"accuracy": 0.5, "training_s": 3.0}',
            "configuration": '{"training.rate": 0.5, "training.optimizer": "adam"}', **row,
        }
        for number, row in enumerate(rows)
    ]  # fmt: skip
    write_table(folder / "trials.parquet", TRIALS, pd.DataFrame(every, columns=TRIALS.names))
    return folder / "trials.parquet"


def test_trials_that_fit_come_with_the_scores_of_each_budget(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        {"trial": 0, "epochs": 2, "values": '{"accuracy": 0.4, "training_s": 2.0}'},
        {"trial": 0, "rung": 1},
        {"seed": 2, "trial": 0},
    )
    first, second = earlier_trials(path, BOTH, SPACE, 1)
    assert first.configuration == {"training.rate": 0.5, "training.optimizer": "adam"}
    assert first.scores == {Budget(2): 0.4, Budget(4): 0.5}
    assert first.all_scores(Budget(2)) == (0.4, -2.0)
    assert second.scores == {Budget(4): 0.5}
    # Of fewer objectives, theirs count.
    assert earlier_trials(path, ACCURACY, SPACE, 1)[0].all_scores(Budget(4)) == (0.5,)


@pytest.mark.parametrize(
    "row",
    [
        {"configuration": '{"training.rate": 0.5}'},
        {"configuration": '{"training.rate": 0.5, "training.optimizer": "sgd"}'},
        {"configuration": '{"training.rate": 1.5, "training.optimizer": "adam"}'},
        {"configuration": '{"training.rate": 0.5, "training.optimizer": "adam", "model.a": 1}'},
        {"values": '{"loss": 0.5}'},
        {"values": "", "score": None, "failure": "broke"},
        {"epochs": 5},
        {"fold": 2},
    ],
)
def test_others_are_left_out(tmp_path: Path, row: dict[str, Any]) -> None:
    assert len(earlier_trials(table(tmp_path, row, {}), ACCURACY, SPACE, 1)) == 1
    with pytest.raises(UserError, match="no trial to learn from; expected some with a score by"):
        earlier_trials(table(tmp_path, row), ACCURACY, SPACE, 1)


def test_the_first_suggestions_are_near_the_earlier_best(tmp_path: Path) -> None:
    rates = [number / 20 for number in range(20)]
    rows = [
        {
            "configuration": json.dumps({"training.rate": rate, "training.optimizer": "adam"}),
            "values": json.dumps({"accuracy": 1 - abs(rate - 0.9)}),
        }
        for rate in rates
    ]
    earlier = earlier_trials(table(tmp_path, *rows), ACCURACY, SPACE, 1)

    def first_rates(folder: str, **keys: Any) -> list[float]:
        study = Study(tmp_path / folder, "a", SPACE, list(Kind), "tpe", 1, **keys)
        return sorted(study.ask()[1]["training.rate"] for _ in range(9))

    assert first_rates("after", earlier=earlier)[4] > 0.7 > first_rates("alone")[4]


def test_a_request_learns_by_tpe_alone_and_is_another_search(tmp_path: Path) -> None:
    path = table(tmp_path, {"configuration": '{"training.width": 3}'})
    learns = TunerConfig("tpe", "hyperband", parameters={"algorithm": "tpe"})
    given = request(tmp_path, tuner=learns, learn_from=path)
    assert given.made(tmp_path / "truth").algorithm == "tpe"
    before = given.searches(tmp_path)
    assert before != replace(given, learn_from=None).searches(tmp_path)
    table(tmp_path, {"configuration": '{"training.width": 4}'})
    assert before != given.searches(tmp_path)
    with pytest.raises(UserError, match="its algorithm random learns from no trials"):
        request(tmp_path, learn_from=path).made(tmp_path / "truth")
