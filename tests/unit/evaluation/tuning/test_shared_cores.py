"""Searches among other jobs against the first tuner's alone, by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiment_files import inputs
from test_tuned_report import row, written

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.tuning.shared_cores import SharedCores


def trained(cores: int, jobs: int, accuracy: float, training_s: float) -> dict[str, Any]:
    return row(0, 0, 2, accuracy, configuration=json.dumps({"training.jobs": jobs}),
               settings=json.dumps({"cores": cores}), training_s=training_s)  # fmt: skip


def of(folder: Path, *cells: tuple[str, dict[str, Any]]) -> SharedCores:
    """A section of cells, each a tuner and its only trial, on workloads of their own."""
    tunings = []
    for number, (tuner, one) in enumerate(cells):
        path = written(folder / str(number), tuner, [one])
        tunings.append(replace(load(inputs([], [], tune=(path,))).tunings[0],
                               workload=f"condition_{number}"))  # fmt: skip
    whole = load(inputs([], [], tune=(written(folder / "any", "v1", [row(0, 0, 2, 0.9)]),)))
    measurements: Measurements = replace(whole, results={"tune": tunings})
    return SharedCores(measurements)


def test_against_the_first_tuner_alone_on_the_most_cores(tmp_path: Path) -> None:
    section = of(
        tmp_path,
        ("v1", trained(1, 1, 0.99, 9.0)),
        ("v1", trained(2, 1, 0.90, 10.0)),  # the baseline: an error of 10 %, 10 s
        ("v2", trained(2, 1, 0.92, 8.0)),
        ("v2", trained(2, 3, 0.85, 30.0)),
    )
    [table] = section.tables
    found = [(one["name"], one["cores"], one["jobs"]) for one in table.ours]
    assert found == [("v1", 1, 1), ("v2", 2, 1), ("v2", 2, 3)]
    less = [(one["error_reduction_pct"], one["training_reduction_pct"]) for one in table.ours]
    assert less == [pytest.approx(of_it) for of_it in ((90, 10), (20, 20), (-50, -200))]
    assert table.ours[0]["against"] == "v1 for accuracy on 2 cores, alone"
    [figure] = section.figures
    assert "Figure 6.3" in figure.title
    assert "NaN" not in figure.svg and "undefined" not in figure.svg


def test_without_other_jobs_or_a_search_alone_nothing_is_said(tmp_path: Path) -> None:
    assert not of(tmp_path / "a", ("v1", trained(2, 1, 0.9, 1.0))).applies
    among = ("v1", trained(2, 2, 0.9, 1.0)), ("v2", trained(2, 3, 0.9, 1.0))
    assert not of(tmp_path / "b", *among).applies
    assert not of(tmp_path / "c", ("v1", row(0, 0, 2, 0.9)), ("v2", row(0, 0, 2, 0.9))).applies
