"""Parameters that a characterization shows to have no impact keep their defaults."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from characterized_runs import failed, measured, table
from spaces import choices, tuning
from test_search import TUNING
from test_tune import request

from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.config.validate import checked
from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import CHARACTERIZATION_RUNS, TRIALS
from trimtab.tuning.characterized import parameters_without_impact
from trimtab.tuning.narrowed import at_defaults
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.tune import tune

ONE_AT_A_TIME = [{}, {"executors": 2}, {"depth": 9}, {"iterations": 40}]
KEYS: dict[str, Any] = {
    "model": {"depth": choices(5, 9), "width": choices(1, 2)},
    "training": {"iterations": {"low": 1, "high": 40, "whole": True, "log": True, "default": 20}},
}


def runs_in(folder: Path, repeats: int = 3) -> Path:
    """Depth changes the quality by a ninth, iterations and executors nothing."""
    rows = measured(ONE_AT_A_TIME, lambda s, _: {"quality": 1.0 if "depth" in s else 0.9}, repeats)
    rows += measured([{}], lambda *_: {}, workload="wine_KM")
    rows += [failed({}, workload="iris_DT")]
    path = folder / "runs.parquet"
    write_table(path, CHARACTERIZATION_RUNS, table(rows))
    return path


def asked(path: Path, workload: str = "wine_DT", **keys: Any) -> Tuning:
    return tuning(**(KEYS | {"characterized": {"runs": str(path), "workload": workload}} | keys))


def test_what_has_no_impact_is_left_at_its_default(tmp_path: Path) -> None:
    whole = asked(runs_in(tmp_path))
    idle = parameters_without_impact(whole)
    assert idle == ["training.iterations"]
    narrower = at_defaults(whole, idle)
    assert narrower.completed({}) == whole.completed({})
    configurations = list(SearchSpace(narrower, [Kind.MODEL, Kind.TRAINING]).listed({}))
    assert {one["training.iterations"] for one in configurations} == {20}
    assert len(configurations) == 4


def test_without_evidence_all_is_searched(tmp_path: Path) -> None:
    assert parameters_without_impact(tuning(**KEYS)) == []
    assert parameters_without_impact(asked(runs_in(tmp_path, repeats=2))) == []  # not shown
    assert parameters_without_impact(asked(runs_in(tmp_path), "iris_DT")) == []  # all failed


def test_what_others_hang_on_stays(tmp_path: Path) -> None:
    path = runs_in(tmp_path)
    deep = {"depth": choices(5, 9, when={"training.iterations": [40]}), "width": choices(1, 2)}
    assert parameters_without_impact(asked(path, model=deep)) == []
    forbidden = [{"training.iterations": 40, "model.width": 2}]
    assert parameters_without_impact(asked(path, forbidden=forbidden)) == []


def test_a_workload_that_was_not_characterized(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"workload: 'wine' is not in .*; there are: iris_DT, wine_"
    ):
        parameters_without_impact(asked(runs_in(tmp_path), "wine"))


def test_nothing_is_left(tmp_path: Path) -> None:
    only = asked(runs_in(tmp_path), model={})
    with pytest.raises(UserError, match=r"nothing to search: .* wine_DT: training.iterations"):
        parameters_without_impact(only)


def test_a_file_that_is_missing_or_something_else(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"runs.parquet: missing"):
        parameters_without_impact(asked(tmp_path / "runs.parquet"))
    (tmp_path / "runs.parquet").write_text("PAR1 not")
    with pytest.raises(TrimtabError, match=r"runs.parquet: not a Parquet file"):
        parameters_without_impact(asked(tmp_path / "runs.parquet"))


def test_the_result_says_what_was_left_out_and_why(tmp_path: Path) -> None:
    runs = runs_in(tmp_path)
    given = request(tmp_path)
    workload = given.workload
    keys = {
        "epochs": {"least": 1, "most": 1},
        "training": {**vars(TUNING)["training"], "iterations": choices(20, 40)},
        "characterized": {"runs": str(runs), "workload": "wine_DT"},
    }
    own = checked(keys, Tuning)
    command = [*workload.command, "--iterations={iterations}"]
    of = Workload(**{**vars(workload), "tuning": own, "command": command})
    tuned = request(tmp_path, workload=of)
    folder = tmp_path / "results"
    assert tuned.without_impact == ["training.iterations"]
    tune(tuned, [1], folder, tmp_path / "truth")
    trials = read_table(folder / "trials.parquet", TRIALS)
    found = trials["configuration"].map(json.loads)
    assert {one["training.iterations"] for one in found} == {20}
    best = (folder / "best.yaml").read_text()
    assert f"with what has no impact by {runs} at its default: training.iterations." in best
    assert yaml.safe_load(best)["parameters"]["iterations"] == 20
