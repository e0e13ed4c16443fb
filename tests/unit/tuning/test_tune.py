"""The stage on a program that runs for real."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from test_search import HOST, TUNING, epochs_of, program

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import brackets_of
from trimtab.tuning.plan import format_plan
from trimtab.tuning.trials.program_digest import digest_of
from trimtab.tuning.tune import Request, Results, tune


def request(folder: Path, **keys: object) -> Request:
    of = program(folder)
    tuned = Workload(**{**vars(of), "tuning": TUNING})
    given = {
        "workload": tuned,
        "tuner": TunerConfig("v1", "hyperband", parameters={"reduction": 2}),
        "objective": Objective("accuracy"),
        "hardware": HOST,
    }
    return Request(**{**given, **keys})  # type: ignore[arg-type]


def test_table_and_best_of_all_seeds_and_nothing_is_run_again(tmp_path: Path) -> None:
    folder, heard = tmp_path / "results", list[int]()
    given = request(tmp_path)
    tune(given, [1, 2], folder, tmp_path / "truth", lambda seed, *_: heard.append(seed))
    table = read_table(folder / "trials.parquet", TRIALS)
    assert heard == [1] * 14 + [2] * 14 and len(table) == 28
    assert not table.isna()[["score", "accuracy", "training_j"]].any(axis=None)
    widths = table["configuration"].map(lambda text: json.loads(text)["training.width"])
    assert (table["score"] == widths / 100).all()
    longest = table[table["epochs"] == 4]
    for _, row in table.iterrows():  # of a rung that goes on, what was trained for it
        epochs = json.loads(row["by_epoch"])
        assert epochs[-1]["epoch"] == row["epochs"] - 1
        assert epochs[-1]["accuracy"] == row["accuracy"] and epochs[0]["rates"]
        assert sum(epoch["wall_s"] for epoch in epochs) <= row["training_s"] + 1e-9
    best = (folder / "best.yaml").read_text()
    assert f"# score: {longest['score'].max()}\n" in best
    parameters = yaml.safe_load(best)["parameters"]
    assert parameters == {"width": longest["score"].max() * 100, "epochs": 4}
    # The two seeds did not search the same.
    assert set(widths[table["seed"] == 1]) != set(widths[table["seed"] == 2])
    before = (folder / "trials.parquet").read_bytes()
    (folder / "trials.parquet").unlink()
    tune(given, [1, 2], folder, tmp_path / "truth", lambda *_: pytest.fail("ran again"))
    assert (folder / "trials.parquet").read_bytes() == before
    # Another tuner begins anew, and what the first has left goes.
    other = request(tmp_path, tuner=TunerConfig("r", "random_search", parameters={"trials": 1}))
    tune(other, [1], folder, tmp_path / "truth")
    assert len(read_table(folder / "trials.parquet", TRIALS)) == 1
    assert len(list((folder / "searches").iterdir())) == 1


def test_another_journal_begins_with_trials_of_its_own(tmp_path: Path) -> None:
    given, folder = request(tmp_path), tmp_path / "results"
    tune(given, [1], folder, tmp_path / "truth")
    before, trained = given.searches(folder) / "seed_1", epochs_of(tmp_path)
    (before / "journal").unlink()  # as its own error says one may
    (before / "results.jsonl").write_text('{"trial": 99, "rung": 0, "score": 1.0}\n')
    tune(given, [1], folder, tmp_path / "truth")
    # Nothing went on from before.
    assert epochs_of(tmp_path) == {epoch: 2 * count for epoch, count in trained.items()}
    assert read_table(folder / "trials.parquet", TRIALS)["trial"].max() < 99


def test_half_a_line_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"trial": 0, "rung": 0, "score": 1.0}\n{"trial": 1, "ru')
    assert [row["trial"] for row in Results(path).rows()] == [0]


def test_nothing_to_tune(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no key `tuning`"):
        tune(request(tmp_path, workload=program(tmp_path)), [1], tmp_path / "r", tmp_path / "t")
    wrong = TunerConfig("x", "hyperband", parameters={"budget": "epoch"})
    with pytest.raises(UserError, match="tuner x: parameters: 'epoch'"):
        tune(request(tmp_path, tuner=wrong), [1], tmp_path / "r", tmp_path / "t")
    minimal = Objective("odd", score="precision")
    with pytest.raises(UserError, match="unknown metric 'precision'"):
        tune(request(tmp_path, objective=minimal), [1], tmp_path / "r", tmp_path / "t")


def test_a_search_in_which_everything_fails(tmp_path: Path) -> None:
    of = program(tmp_path)
    broken = Workload(**{**vars(of), "command": ["python", "-c", "raise SystemExit('no luck')"],
                         "tuning": TUNING})  # fmt: skip
    with pytest.raises(TrimtabError, match=r"no trial has a score: ended with .*no luck"):
        tune(request(tmp_path, workload=broken), [1], tmp_path / "r", tmp_path / "t")


def test_the_plan_and_its_cost() -> None:
    lines = format_plan(brackets_of(4, 2), Fidelity(BudgetKind.BOTH, 2, 8, 0.5))
    assert lines[0] == "bracket 1: 4 to 2 epochs on 50%, 2 to 4 epochs, 1 to 8 epochs"
    assert lines[-1] == "in all as much as 52 epochs over all data"  # 12 and 16 and 24


def test_a_program_that_was_changed_is_searched_anew(tmp_path: Path) -> None:
    script, beside = tmp_path / "train.py", tmp_path / "model.py"
    script.write_text("import model")
    beside.write_text("layers = 1")
    given = replace(program(tmp_path), workdir=str(tmp_path), command=["python", "train.py"])
    digests = [digest_of(given)]
    for path, text in ((beside, "layers = 2"), (script, "import model  # deeper")):
        path.write_text(text)
        digests.append(digest_of(given))
    assert len(set(digests)) == 3
    beside.write_text("layers = 1")
    script.write_text("import model")
    assert digest_of(given) == digests[0]
