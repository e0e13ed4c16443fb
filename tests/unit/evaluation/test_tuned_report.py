"""The chapter about tuning, of trials with numbers to compute by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiment_files import inputs

from trimtab.config.groups.tuner import TunerConfig
from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.tunings import SeedSearch, TunedCell
from trimtab.evaluation.report.section import TUNING, find_sections
from trimtab.evaluation.tuning.best_configurations import BestConfigurations, format_parameter_name
from trimtab.evaluation.tuning.fronts import Fronts
from trimtab.evaluation.tuning.tuners import Tuners
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import TRIALS


def row(trial: int, rung: int, epochs: int, score: float | None, **keys: Any) -> dict[str, Any]:
    """A rung of a trial that costs a second, 10 J and 2 s of its process an epoch."""
    return {
        **dict.fromkeys(TRIALS.names),
        "seed": 1, "fold": 1, "trial": trial, "bracket": 0, "rung": rung, "epochs": epochs,
        "data_fraction": 1.0, "configuration": json.dumps({"training.rate": trial / 3}),
        "settings": '{"cores": 2}', "score": score, "failure": "" if score else "it broke",
        "accuracy": score, "training_s": 1.0 * epochs, "training_j": 10.0 * epochs,
        "energy_source": "modelled", "epochs_trained": epochs, "energy_j": 10.0 * epochs,
        "work_epochs": epochs * keys.get("data_fraction", 1.0),
        "wall_s": 2.0 * epochs, "cpu_s": 1.0 * epochs,
        "start_up_s": 1.0, "began_s": 0.0, "ended_s": 2.0 * epochs, "epochs_probed": 0, "known": 0,
        "by_epoch": "[]",
        **keys,
    }  # fmt: skip


def search(seed: int = 1, times: float = 1.0) -> list[dict[str, Any]]:
    """Two trials of two epochs, of which the second goes on to four, and one that fails.

    6 epochs are trained, 60 J spent; they end after 4, 8, 14 and 14 s, `times` as late.
    """
    rows = [
        row(0, 0, 2, 0.9, ended_s=4.0),
        row(1, 0, 2, 0.6, ended_s=8.0),
        row(1, 1, 4, 0.8, ended_s=14.0, work_epochs=2.0, energy_j=20.0),
        row(2, 0, 0, None, ended_s=14.0),
    ]
    return [{**one, "seed": seed, "ended_s": one["ended_s"] * times} for one in rows]


def written(folder: Path, tuner: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / tuner / "lenet" / "here" / "accuracy"
    path.mkdir(parents=True)
    write_table(path / "trials.parquet", TRIALS, pd.DataFrame(rows, columns=TRIALS.names))
    return path


def given(folder: Path) -> Any:
    """Tune V1 twice, and a tuner that takes half as long with one seed and 3/4 with the other."""
    first = written(folder, "v1", search(1) + search(2, 2))
    second = written(folder, "ours", search(1, 0.5) + search(2, 1.5))
    return inputs(
        [], [], tune=(first, second), options={"tuner": {"v1": TunerConfig("v1", "v1", "Tune V1")}}
    )


def test_what_a_search_came_to() -> None:
    one = SeedSearch(1, pd.DataFrame(search()))
    assert (one.work_epochs, one.training_j, one.tuning_s, one.failed) == (6.0, 60.0, 14.0, 1)
    # The best is that of the largest budget, where the highest accuracy so far was another's.
    assert one.best is not None and (one.best["trial"], one.best["score"]) == (1, 0.8)
    assert one.best_over_time() == [(4.0, 0.9)]
    # What began again, on more data, costs all of it.
    rows = [row(0, 0, 1, 0.1, data_fraction=0.5), row(0, 1, 1, 0.2, ended_s=4.0)]
    again = SeedSearch(1, pd.DataFrame(rows))
    assert (again.work_epochs, again.training_j) == (1.5, 20.0)
    assert again.best_over_time() == [(2.0, 0.1), (4.0, 0.2)]
    # Trials that ran at once.
    rows = [row(0, 0, 2, 0.1, ended_s=5.0), row(1, 0, 2, 0.2, ended_s=4.5)]
    beside = SeedSearch(1, pd.DataFrame(rows))
    assert beside.tuning_s == 5.0 and beside.best_over_time() == [(4.5, 0.2)]
    assert SeedSearch(1, pd.DataFrame([row(0, 0, 2, None)])).best is None
    # A program without checkpoints begins again, and what is not known is no 0.
    rows = [row(0, 0, 2, 0.1), row(0, 1, 4, 0.2)]
    assert SeedSearch(1, pd.DataFrame(rows)).work_epochs == 6.0
    rows += [row(1, 0, 2, 0.3, energy_j=None, energy_source="unknown")]
    assert np.isnan(SeedSearch(1, pd.DataFrame(rows)).training_j)
    cell = TunedCell("v1", "lenet", "here", "accuracy", "V1", pd.DataFrame(rows))
    assert cell.energy_source == "unknown"
    # Two folds: the second one's first trial does not go on from the first one's.
    rows = [row(0, 0, 2, 0.1), row(0, 0, 3, 0.2, fold=2)]
    assert SeedSearch(1, pd.DataFrame(rows)).work_epochs == 5.0


def test_the_best_of_two_folds_is_the_second_ones() -> None:
    # The first one's score, an accuracy, is higher, and on a larger budget.
    rows = [row(0, 0, 9, 0.9), row(0, 0, 4, -3.0, fold=2), row(1, 0, 4, -2.0, fold=2)]
    best = SeedSearch(1, pd.DataFrame(rows)).best
    assert best is not None and (best["fold"], best["trial"]) == (2, 1)
    rows = [row(0, 0, 9, 0.9), row(0, 0, 4, None, fold=2)]
    assert SeedSearch(1, pd.DataFrame(rows)).best is None


def test_a_metric_below_0_is_drawn(tmp_path: Path) -> None:
    """A reward or a log-likelihood: no section of the chapter expects a share."""
    rows = [{**one, "accuracy": one["score"] and one["score"] - 5} for one in search()]
    folders = tuple(written(tmp_path, tuner, rows) for tuner in ("v1", "ours"))
    measurements = load(inputs([], [], tune=folders))
    drawn = dict[str, str]()
    for kind in find_sections():
        section = kind(measurements)
        if kind.chapter is TUNING and section.applies:
            assert all(table.ours or table.rows for table in section.tables)
            drawn |= {figure.name: figure.svg for figure in section.figures}
    assert drawn.keys() >= {"tuners", "accuracy_over_tuning_time", "parameter_effects"}
    assert not [name for name, svg in drawn.items() if "NaN" in svg or "undefined" in svg]
    best, _ = BestConfigurations(measurements).tables
    assert [one["accuracy_pct"] for one in best.ours] == [pytest.approx(-420.0)] * 2


def test_several_objectives_have_a_front(tmp_path: Path) -> None:
    rows = [
        row(trial, 0, 4, accuracy, on_front=trial < 2, chosen=trial == 1,
            values=json.dumps({"accuracy": accuracy, "training_s": time_s}))
        for trial, (accuracy, time_s) in enumerate([(0.9, 9.0), (0.8, 5.0), (0.7, 6.0)])
    ]  # fmt: skip
    measurements = load(inputs([], [], tune=(written(tmp_path, "v1", rows),)))
    (figure,) = Fronts(measurements).figures
    points = figure.spec["data"]["values"]
    assert [(one["x"], one["y"], one["on_front"], one["chosen"]) for one in points] == [
        (9.0, 0.9, True, False), (5.0, 0.8, True, True), (6.0, 0.7, False, False),
    ]  # fmt: skip
    assert "NaN" not in figure.svg
    best, _ = BestConfigurations(measurements).tables
    assert [one["values"] for one in best.ours] == ["accuracy 0.8, training_s 5"]
    alone = load(inputs([], [], tune=(written(tmp_path / "one", "v1", search()),)))
    assert list(Fronts(alone).figures) == []


def test_tuners_beside_each_other(tmp_path: Path) -> None:
    measurements = load(given(tmp_path))
    section = Tuners(measurements)
    [table] = section.tables
    first, second = table.ours
    assert (first["name"], second["name"]) == ("Tune V1", "ours")
    assert (first["searches"], first["rungs"], first["failed"]) == (2, 8, 2)
    assert (first["tuning_s"], first["tuning_low_s"], first["tuning_high_s"]) == (21.0, 14.0, 28.0)
    assert "probed_epochs" not in first and first["energy_source"] == "modelled"
    assert first["accuracy_pct"] == 80.0 and first["training_s"] == 4.0
    assert first["tuning_kj"] == pytest.approx(0.06)
    assert "tuning_reduction_pct" not in first
    # Seed by seed: half, and a quarter less.
    assert second["tuning_reduction_pct"] == 37.5
    assert second["tuning_reduction_low_pct"] == 25.0
    assert second["energy_reduction_pct"] == 0.0
    places = {row.get("published_in") for row in table.rows} - {None}
    assert len(places) >= 3  # Table 6.1, Sections 6.4.4 and 7.5.4
    [(label, card)] = section.key_figures()
    assert label == "lenet, accuracy" and card.change == "\N{MINUS SIGN}37.5\N{NO-BREAK SPACE}%"
    assert "energy of tuning is modelled" in "".join(said for _, said in section.caveats())


def test_what_was_probed_measured_and_served(tmp_path: Path) -> None:
    rows = [
        {**one, "epochs_probed": 3, "known": one["trial"] % 2, "energy_source": "measured",
         "inference_s": 0.002, "inference_j": 0.1, "inference_tuning_s": 0.5,
         "inference_tuning_j": 25.0}
        for one in search()
    ]  # fmt: skip
    measurements = load(inputs([], [], tune=(written(tmp_path, "ours", rows),)))
    [ours] = Tuners(measurements).tables[0].ours
    assert (ours["probed_epochs"], ours["energy_source"]) == (9, "measured")
    # Of four rows; 60 J of training.
    assert (ours["inference_tuning_s"], ours["inference_tuning_kj"]) == (2.0, 0.1)
    assert ours["tuning_kj"] == pytest.approx(0.16)
    assert ours["known_pct"] == pytest.approx(100 / 3)
    best, _ = BestConfigurations(measurements).tables
    assert (best.rows[0]["inference_s"], best.rows[0]["training_j"]) == (0.002, 40.0)


def test_the_report(tmp_path: Path) -> None:
    page = evaluate(given(tmp_path), tmp_path / "report").read_text()
    assert 'id="tuning"' in page and "Tune V1" in page and "rate 0.333" in page
    metrics = json.loads((tmp_path / "report/metrics.json").read_text())["tuning"]
    assert metrics["lenet/here/accuracy/ours/tuning_reduction_pct"] == 37.5
    assert {path.stem for path in (tmp_path / "report/tables").iterdir()} >= {
        "tuning", "best_configurations", "rungs",
    }  # fmt: skip
    assert {path.stem for path in (tmp_path / "report/figures").iterdir()} >= {
        "tuners", "accuracy_over_tuning_time",
    }  # fmt: skip


def test_searches_that_found_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path, "v1", [row(0, 0, 2, None, configuration="no JSON <b>")])
    evaluate(inputs([], [], tune=(folder,)), tmp_path / "report")
    assert len((tmp_path / "report/tables/best_configurations.csv").read_text().splitlines()) == 1


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no results were given"):
        load(inputs([], []))
    with pytest.raises(TrimtabError, match="no rows"):
        load(inputs([], [], tune=(written(tmp_path, "none", []),)))
    twice = written(tmp_path, "twice", [row(0, 0, 2, 0.5)] * 2)
    with pytest.raises(UserError, match=r"rung 1 / 1 / 0 / 0 is given twice"):
        load(inputs([], [], tune=(twice,)))
    once = written(tmp_path, "once", [row(0, 0, 2, 0.5)])
    with pytest.raises(UserError, match=r"tuning .*once is given twice"):
        load(inputs([], [], tune=(once, once)))


def test_configurations_in_words() -> None:
    assert (
        format_parameter_name('{"training.batch_size": 16, "model.a": 0.00123456}')
        == "batch_size 16, a 0.00123"
    )
    assert format_parameter_name('{"a": true, "b": null}') == "a True, b None"
    assert format_parameter_name("[1]") == "[1]" and format_parameter_name("{") == "{"
