"""The stage on a program that runs for real."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from optuna.storages.journal import JournalFileBackend
from spaces import choices, tuning
from test_search import HOST, TUNING, epochs_of, program

from trimtab.config.groups.objective import Goal, Objective, OtherScore
from trimtab.config.groups.tuner import TunerConfig
from trimtab.config.groups.tuning import EpochRange
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.deployment.outputs import result_in
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import brackets_of
from trimtab.tuning.plan import format_plan
from trimtab.tuning.trials.program_digest import digest_of
from trimtab.tuning.tune import Request, found_in, tune


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


def test_several_objectives_have_a_front_and_another_bound_chooses_anew(tmp_path: Path) -> None:
    near = OtherScore("abs(accuracy - 0.3)", Goal.MINIMISE)
    both = Objective("both", others=[near], bounds={"accuracy": 0.4})
    folder, random = tmp_path / "results", TunerConfig("r", "random_search", "", {"trials": 8})
    tune(request(tmp_path, objective=both, tuner=random), [1], folder, tmp_path / "truth")
    table = read_table(folder / "trials.parquet", TRIALS)
    values = table["values"].map(json.loads)
    accuracies = table["accuracy"].to_list()
    assert [one["accuracy"] for one in values] == accuracies
    assert [one[near.score] for one in values] == [abs(one - 0.3) for one in accuracies]
    pairs = [(one, -abs(one - 0.3)) for one in accuracies]
    assert table["on_front"].to_list() == [
        not any((a > one[0] and b >= one[1]) or (a >= one[0] and b > one[1]) for a, b in pairs)
        for one in pairs
    ]
    (chosen,) = table[table["chosen"]]["accuracy"]
    assert chosen == min(one for one in accuracies if one >= 0.4)
    assert result_in(folder / "best.yaml")["scores"]["accuracy"] == chosen
    # The bound is no part of the search.
    close = replace(both, bounds={near.score: 0.2})
    heard = list[int]()
    given = request(tmp_path, objective=close, tuner=random)
    tune(given, [1], folder, tmp_path / "truth", lambda seed, *_: heard.append(seed))
    assert heard == []
    expected = max(one for one in accuracies if abs(one - 0.3) <= 0.2)
    assert result_in(folder / "best.yaml")["parameters"]["width"] == round(100 * expected)


def test_another_journal_begins_with_trials_of_its_own(tmp_path: Path) -> None:
    given, folder = request(tmp_path), tmp_path / "results"
    tune(given, [1], folder, tmp_path / "truth")
    before, trained = given.searches(folder) / "seed_1", epochs_of(tmp_path)
    (before / "journal").unlink()  # as its own error says one may
    (before / "results.jsonl").write_text('{"trial": 0, "rung": 0, "score": 1.0}\n')
    tune(given, [1], folder, tmp_path / "truth")
    # Nothing went on from before.
    assert epochs_of(tmp_path) == {epoch: 2 * count for epoch, count in trained.items()}
    assert read_table(folder / "trials.parquet", TRIALS)["score"].max() < 1
    assert not list(before.glob("results*"))


class PowerLoss(BaseException):
    """The machine is gone: nothing is written any more."""


def lose_power(monkeypatch: pytest.MonkeyPatch, at: int, part: float) -> list[int]:
    """Have a part of the journal's write `at` in its file, and nothing after it; count them."""
    whole, writes = JournalFileBackend.append_logs, [0]

    def append(self: JournalFileBackend, logs: list[dict[str, Any]]) -> None:
        writes[0] += 1
        path = Path(self._file_path)
        before = path.stat().st_size
        if writes[0] <= at:
            whole(self, logs)
        if writes[0] >= at:
            if writes[0] == at:
                os.truncate(path, before + int(part * (path.stat().st_size - before)))
            raise PowerLoss

    monkeypatch.setattr(JournalFileBackend, "append_logs", append)
    return writes


def found(folder: Path) -> tuple[list[dict[str, Any]], str]:
    table = read_table(folder / "trials.parquet", TRIALS)
    said = table[["trial", "rung", "epochs", "configuration", "score", "failure"]]
    best = (folder / "best.yaml").read_text().splitlines()
    return said.to_dict("records"), "\n".join(line for line in best if "training_" not in line)


@pytest.mark.parametrize("part", [0.5, 1.0])
def test_a_loss_of_power_at_any_write_of_the_journal_loses_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: float
) -> None:
    """A score and its row are one record: the best is the same wherever the power was lost."""
    tuned = replace(program(tmp_path), tuning=replace(TUNING, epochs=EpochRange(1, 2)))
    given = request(tmp_path, workload=tuned)
    with monkeypatch.context() as counting:
        writes = lose_power(counting, at=1000, part=1.0)
        tune(given, [1], tmp_path / "whole", tmp_path / "truth")
    expected = found(tmp_path / "whole")
    scores = [row["score"] for row in expected[0] if row["epochs"] == 2]
    assert len(set(scores)) == len(scores) > 1
    for at in range(1, writes[0] + 1):
        folder = tmp_path / f"lost_{at}"
        with monkeypatch.context() as losing:
            lose_power(losing, at, part)
            with pytest.raises(PowerLoss):
                tune(given, [1], folder, tmp_path / "truth")
        tune(given, [1], folder, tmp_path / "truth")
        assert found(folder) == expected, f"write {at} of {writes[0]}"


def as_before(folder: Path) -> Path:
    """Make a search one of version 0.1: with rows in a file, a line each, and none in the journal.

    Return that file.
    """
    rows = [json.dumps(row) for row in found_in(folder)]
    (folder / "results.jsonl").write_text("".join(f"\n{row}\n" for row in rows) + '{"trial": 0')
    journal, lines = folder / "journal", list[str]()
    for line in journal.read_text().splitlines():
        record = json.loads(line)
        attributes = record.get("user_attr", {})
        if "told" in attributes:
            attributes["told"] = [one[:3] for one in attributes["told"]]
        if "failure" in attributes:
            attributes["failure"] = attributes["failure"][2]
        lines.append(json.dumps(record, separators=(",", ":")) + "\n")
    journal.write_text("".join(lines))
    return folder / "results.jsonl"


def test_rows_of_the_version_before_are_read_and_a_lost_one_is_told(tmp_path: Path) -> None:
    space = tuning(epochs={"least": 1, "most": 4}, training={"width": choices(13, 30, 50)})
    given = request(tmp_path, workload=replace(program(tmp_path), tuning=space))
    folder = tmp_path / "results"
    tune(given, [1], folder, tmp_path / "truth")
    before = (folder / "trials.parquet").read_bytes()
    assert "unlucky" in "".join(read_table(folder / "trials.parquet", TRIALS)["failure"])
    old = as_before(given.searches(folder) / "seed_1")
    tune(given, [1], folder, tmp_path / "truth", lambda *_: pytest.fail("ran again"))
    assert (folder / "trials.parquet").read_bytes() == before
    lines = old.read_text().splitlines()
    best = max((line for line in lines if '"score": 0.5' in line), key=len)
    trial = json.loads(best)["trial"]
    old.write_text("\n".join(line for line in lines if line != best))
    with pytest.raises(TrimtabError, match=f"what trial {trial} came to on .* was lost"):
        tune(given, [1], folder, tmp_path / "truth")


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
    with pytest.raises(TrimtabError, match=r"3 trials in a row failed alike: ended with .*no luck"):
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
