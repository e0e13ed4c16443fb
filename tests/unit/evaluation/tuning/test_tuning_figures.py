"""The figures of the chapter about tuning, of small searches that ran for real and by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from experiment_files import inputs
from recorded_tuning import recorded
from test_tuned_report import row, written

from trimtab.config.groups.tuner import TunerConfig
from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.tunings import SeedSearch, TunedCell
from trimtab.evaluation.report.section import TUNING, find_sections
from trimtab.evaluation.tuning.effects import ParameterEffects
from trimtab.evaluation.tuning.inference import Inference
from trimtab.evaluation.tuning.multi_tenant import MultiTenant, responses
from trimtab.evaluation.tuning.profiles.clusters import Clusters
from trimtab.evaluation.tuning.profiles.events import Events, in_short
from trimtab.evaluation.tuning.thesis import THESIS, ThesisFigures

# These need searches of their own, and have tests of their own.
OF_OTHERS = {"tuning_cost", "inference_error", "among_jobs", "phase_events"}
SWEEP = "grid_search.lenet5_sweep.accuracy"
PIPETUNE = tuple(f"{one}.lenet5_short.accuracy" for one in ("tune_v1", "tune_v2", "pipetune"))
EDGE = tuple(
    f"{tuner}.lenet5_short.{objective}"
    for objective in ("time_by_accuracy", "energy_by_accuracy")
    for tuner in ("edgetune", "edgetune_epochs")
)


def measured(folder: Path, *names: str) -> Measurements:
    return load(inputs([], [], tune=recorded(folder, *names)))


def values_of(figure: Any) -> str:
    return json.dumps(figure.spec)


def test_one_experiment_draws_what_it_has_the_data_for(tmp_path: Path) -> None:
    measurements = measured(tmp_path, SWEEP, *EDGE[:2])
    sections = [kind(measurements) for kind in find_sections() if kind.chapter is TUNING]
    drawn = {one.name: one for section in sections if section.applies for one in section.figures}
    assert drawn.keys() == {name for one in THESIS for name in one.figures} - OF_OTHERS
    # The others are drawn in the test of the report; drawing takes half a second each.
    for name in ("core_effects", "inference_effects", "deployed", "epoch_events"):
        assert "NaN" not in drawn[name].svg and "undefined" not in drawn[name].svg, name


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    [table] = ThesisFigures(measured(tmp_path, SWEEP)).tables
    said = {str(one["name"]): one for one in table.rows}
    assert said["Figure 2.3"]["figures"] == "parameter_effects, core_effects"
    assert said["Figures 6.10, 6.11"]["figures"] == "not measured here"
    conf = Path(__file__).parents[4] / "conf/experiment"
    assert all((conf / f"{one.experiment}.yaml").is_file() for one in THESIS if one.experiment)


def test_effects_of_a_recorded_grid(tmp_path: Path) -> None:
    [table] = ParameterEffects(measured(tmp_path, SWEEP)).tables
    # Four batch sizes on one and on two cores: three differences twice, and four of the cores.
    batches = [one for one in table.ours if one["parameter"] == "training.batch_size"]
    cores = [one for one in table.ours if one["parameter"] == "system.cores"]
    assert len(batches) == 6 and len(cores) == 4
    assert {one["value"] for one in batches} == {64, 256, 1024}
    assert {one["beside"] for one in cores} == {f"batch size {n}" for n in (32, 64, 256, 1024)}
    # The accuracy depends on the batch size alone, and falls with it.
    points = {one["value"]: one["accuracy_points"] for one in batches}
    assert 0 > points[64] > points[256] > points[1024]  # type: ignore[operator]
    assert all(abs(float(one["accuracy_points"] or 0)) < 1e-9 for one in cores)


def test_effects_by_hand(tmp_path: Path) -> None:
    def trial(number: int, batch: int, cores: int, seconds: float, **keys: Any) -> dict[str, Any]:
        return row(number, 0, 2, 0.9, configuration=json.dumps({"training.batch_size": batch}),
                   settings=json.dumps({"cores": cores}), training_s=seconds, **keys)  # fmt: skip

    rows = [
        trial(0, 16, 1, 10.0), trial(1, 32, 1, 8.0), trial(2, 16, 2, 5.0),
        # Of another budget, and of another search: nothing is compared across them.
        {**trial(3, 64, 1, 1.0), "epochs": 9}, trial(0, 64, 2, 1.0, seed=2),
    ]  # fmt: skip
    [table] = ParameterEffects(load(inputs([], [], tune=(written(tmp_path, "g", rows),)))).tables
    found = [
        (r["parameter"], r["value"], r["beside"], r["training_change_pct"]) for r in table.ours
    ]
    assert found == [
        ("training.batch_size", 32.0, "cores 1", pytest.approx(-20.0)),
        ("system.cores", 2.0, "batch size 16", pytest.approx(-50.0)),
    ]
    # Where no two trials differ in one thing alone, there is nothing to say.
    one = written(tmp_path / "other", "g", rows[:1])
    assert not ParameterEffects(load(inputs([], [], tune=(one,)))).applies


def test_inference_that_was_measured(tmp_path: Path) -> None:
    section = Inference(measured(tmp_path, *EDGE))
    [table] = section.tables
    for one in table.ours:
        assert one["throughput_hz"] == pytest.approx(1 / float(one["inference_s"] or 1))
    assert {figure.name for figure in section.figures} == {"inference_effects", "deployed"}
    deployed = next(figure for figure in section.figures if figure.name == "deployed")
    assert "time_by_accuracy" in values_of(deployed) and "energy_by_accuracy" in values_of(deployed)
    assert not Inference(measured(tmp_path / "none", SWEEP)).applies


def test_epochs_and_their_events(tmp_path: Path) -> None:
    measurements = measured(tmp_path, SWEEP, EDGE[0])
    [cell, _] = measurements.tunings
    # Eight trials of four epochs, whose seconds are those of their training.
    assert len(cell.epochs) == 32
    for at, epochs in cell.epochs.groupby("row"):
        assert epochs["wall_s"].sum() == pytest.approx(cell.trials["training_s"][at], rel=1e-4)
    assert [figure.name for figure in Events(measurements).figures] == [
        "epoch_events", "workload_events",
    ]  # fmt: skip
    clusters = Clusters(measurements)
    counted = sum(
        int(one[key] or 0) for one in clusters.tables[0].rows for key in ("cluster_1", "cluster_2")
    )
    assert counted == sum(len(cell.epochs) for cell in measurements.tunings)
    assert not Clusters(measured(tmp_path / "one", SWEEP)).applies
    assert (
        in_short({"cores": 1, "memory_gib": 8}) == "1 core, 8 GiB" and in_short({}) == "as started"
    )


def test_damaged_epochs_are_none() -> None:
    frame = pd.DataFrame([row(0, 0, 2, 0.5, by_epoch=text) for text in ("{", "[1]", "null", None)])
    assert TunedCell("t", "w", "h", "o", "t", frame).epochs.empty


def test_responses_by_hand() -> None:
    # Arrivals at 1, 2, 10; each takes 4: the second waits for 3, the third finds nobody.
    found = responses(np.array([1.0, 1.0, 8.0]), np.array([4.0, 4.0, 4.0]))
    assert found.tolist() == [4.0, 7.0, 4.0]


def test_responses_against_the_formula() -> None:
    """M/G/1 by Pollaczek and Khinchine: two service times, a load of 0.6."""
    random = np.random.default_rng(7)
    services = random.choice([1.0, 5.0], 400_000)
    rate = 0.6 / 3.0
    found = responses(random.exponential(1 / rate, len(services)), services).mean()
    expected = 3.0 + rate * 13.0 / (2 * (1 - 0.6))  # E[S^2] = (1 + 25) / 2
    assert found == pytest.approx(expected, rel=0.03)


def cell_of(known: list[int], durations: list[float]) -> list[dict[str, Any]]:
    return [
        row(0, 0, 2, 0.9, seed=seed, known=flag, epochs_probed=1, ended_s=seconds)
        for seed, (flag, seconds) in enumerate(zip(known, durations, strict=True), start=1)
    ]


def test_a_fifth_of_the_jobs_is_unseen(tmp_path: Path) -> None:
    base = written(tmp_path, "v1", [row(0, 0, 2, 0.9, ended_s=10.0)])
    ours = written(tmp_path, "ours", cell_of([0, 1], [10.0, 5.0]))
    [table] = MultiTenant(load(inputs([], [], tune=(base, ours)))).tables
    first, second = table.ours[:2]
    assert (first["unseen"], second["unseen"]) == ("makes no difference", "20%")
    # At a load of a half: M/D/1, and a fifth of 10 s and the rest of 5 s.
    assert first["response_s"] == pytest.approx(15.0, rel=0.05)
    mean, square = 6.0, 0.2 * 100 + 0.8 * 25
    expected = mean + 0.05 * square / (2 * (1 - 0.05 * mean))
    assert second["response_s"] == pytest.approx(expected, rel=0.05)
    assert {row["response_reduction_pct"] for row in table.rows if "published_in" in row} == {
        30,
        65,
    }
    # A tuner that began with the ground truth of another one is the same one, met again.
    again = written(tmp_path, "again", cell_of([1], [5.0]))
    new = written(tmp_path / "alone", "ours", cell_of([0], [10.0]))
    cells = inputs(
        [],
        [],
        tune=(base, new, again),
        options={"tuner": {"again": TunerConfig("again", "v1", after="ours")}},
    )
    [table] = MultiTenant(load(cells)).tables
    both = [one for one in table.ours if one["load"] == first["load"]]
    assert [one["name"] for one in both] == ["v1", "ours"]
    assert (both[1]["unseen"], both[1]["response_s"]) == ("20%", second["response_s"])
    # Of real searches the first knew nothing, and what it learnt the second one did.
    [table] = MultiTenant(measured(tmp_path / "real", *PIPETUNE)).tables
    assert [one["unseen"] for one in table.ours[:3]] == ["makes no difference"] * 2 + ["20%"]
    # Without a search that met a known workload all jobs are taken as new, which is said.
    new = written(tmp_path / "new", "ours", cell_of([0, 0], [10.0, 5.0]))
    [table] = MultiTenant(load(inputs([], [], tune=(base, new)))).tables
    assert str(table.ours[1]["unseen"]).startswith("all: no search met")


def test_two_searches_of_one_cell_are_told_apart() -> None:
    rows = [row(0, 0, 2, 0.9, seed=1), row(0, 0, 2, 0.8, seed=2)]
    cell = TunedCell("t", "w", "h", "o", "t", pd.DataFrame(rows))
    assert [search.seed for search in cell.searches] == [1, 2]
    assert isinstance(cell.searches[0], SeedSearch) and cell.inference.empty
