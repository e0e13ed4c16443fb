"""Runs, debloating time and epochs, against values made by hand."""

from pathlib import Path

import experiment_files as files
import pandas as pd
import pytest

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.tables import energy_source, is_published
from trimtab.evaluation.runs.effort import DebloatingTime
from trimtab.evaluation.runs.epochs import EpochCosts
from trimtab.evaluation.runs.run_cost import RunCost


def test_runs_are_compared_pair_by_pair(tmp_path: Path) -> None:
    table = RunCost(load(files.write_experiment(tmp_path))).tables[0]
    (row,) = (row for row in table.rows if not is_published(row))
    assert (row["name"], row["target"], row["pairs"]) == ("lenet5_train", "lenet5_train", 3)
    assert (row["peak_memory_mb"], row["wall_s"], row["start_up_s"]) == (500, 12, 2)
    assert row["peak_memory_reduction_pct"] == pytest.approx(20)
    assert row["wall_reduction_pct"] == pytest.approx(20)
    assert row["wall_reduction_low_pct"] == pytest.approx(10)
    assert row["wall_reduction_high_pct"] == pytest.approx(50)
    assert row["start_up_reduction_pct"] == 0
    assert (row["energy_source"], row["source"]) == ("modelled", "measured")


def test_each_workload_of_a_target_is_compared_on_its_own(tmp_path: Path) -> None:
    names = ("lenet5_train", "lstm_train")
    profiles = [files.write_profile(tmp_path / name, name) for name in names]
    runs = files.verify_runs(names[0])
    runs += [files.run(names[1], c, 0, wall_s=w) for c, w in (("original", 4), ("debloated", 3))]
    debloat = files.write_debloat(tmp_path / "both", "both", names, runs=runs)
    rows = RunCost(load(files.inputs(profiles, [debloat]))).tables[0].rows[:2]
    assert [(r["name"], r["target"], r["pairs"], r["wall_s"]) for r in rows] == [
        ("lenet5_train", "both", 3, 12),
        ("lstm_train", "both", 1, 4),
    ]
    assert rows[1]["wall_reduction_pct"] == 25


def test_gpu_memory_is_compared_where_there_is_a_gpu(tmp_path: Path) -> None:
    table = RunCost(load(files.write_gpu_experiment(tmp_path))).tables[0]
    with_gpu, _, without = table.rows[:3]
    assert (with_gpu["name"], without["name"]) == ("mobilenet_train", "lenet5_train")
    assert (with_gpu["peak_gpu_memory_mb"], with_gpu["peak_gpu_memory_reduction_pct"]) == (2000, 75)
    assert "peak_gpu_memory_mb" not in without
    assert "No GPU code" not in table.caption
    assert (
        "No GPU code" in RunCost(load(files.write_experiment(tmp_path / "cpu"))).tables[0].caption
    )


def test_a_debloated_environment_that_never_ran_has_no_figures(tmp_path: Path) -> None:
    runs = [row | {"ended_well": False} for row in files.verify_runs("lenet5_train")]
    debloat = files.write_debloat(tmp_path / "d", runs=runs, **files.FAILED)
    row = (
        RunCost(load(files.inputs([files.write_profile(tmp_path / "p")], [debloat])))
        .tables[0]
        .rows[0]
    )
    assert row["pairs"] == 0
    assert row.get("wall_s") is None
    assert row["energy_source"] is None


def test_the_debloating_time_is_the_sum_of_its_steps(tmp_path: Path) -> None:
    row = DebloatingTime(load(files.write_experiment(tmp_path))).tables[0].rows[0]
    assert (row["trace_s"], row["locate_s"], row["rewrite_s"]) == (30, 4, 5.5)
    assert (row["end_to_end_s"], row["libraries"]) == (39.5, 4)


def test_epochs_are_medians_over_the_repeats(tmp_path: Path) -> None:
    rows = EpochCosts(load(files.write_experiment(tmp_path))).tables[0].rows
    assert [(r["epoch"], r["repeats"]) for r in rows] == [(0, 3), (1, 3)]
    assert (rows[0]["duration_s"], rows[0]["cpu_s"]) == (2, 1.5)
    assert (rows[0]["energy_low_j"], rows[0]["energy_j"], rows[0]["energy_high_j"]) == (8, 10, 12)
    assert (rows[0]["energy_source"], rows[0]["energy_method"]) == ("modelled", "power model")


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["measured", "measured"], "measured"),
        (["measured", "modelled"], "modelled"),
        (["modelled"], "modelled"),
        ([], "modelled"),
    ],
)
def test_one_modelled_run_makes_the_figure_modelled(sources: list[str], expected: str) -> None:
    assert energy_source(pd.Series(sources, dtype=str)) == expected
