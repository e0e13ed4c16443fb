"""The errors of predictions in the report: those of the cells, and none of an old summary."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import experiment_files as files
import pytest
import schedule_files
from schedule_files import ERRORS, allocation

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.schedules.predictability import Predictability
from trimtab.records.figures import PredictedRuns, PredictionErrors


def two_policies(folder: Path, errors: Sequence[PredictionErrors] = (ERRORS,)) -> list[Path]:
    return [
        schedule_files.write_cell(
            folder / "cluster/drawn" / policy,
            policy,
            policy,
            [allocation(0, 0, 11, "finished"), allocation(1, 0, 31, "finished", node=1)],
            ("server", "board"),
            trace="drawn",
            baseline=policy == "k8s",
            predictions=list(errors) if policy == "heats" else [],
        )
        for policy in ("k8s", "heats")
    ]


def read(folders: list[Path]) -> Schedules:
    return load(files.inputs([], [], schedule=tuple(folders))).schedules


def test_the_rows_are_those_of_the_cells(tmp_path: Path) -> None:
    table = schedule_files.schedule_table(read(two_policies(tmp_path)), "predictions")
    (row,) = table.rows
    assert (row["policy"], row["task"], row["node_type"]) == ("heats", "low", "board")
    assert (row["run_time_error_pct"], row["power_error_pct"]) == (18.0, 2.5)
    assert row["source"] == "simulated" and "Figure 3.3" in table.title
    assert {column.key for column in table.columns} <= {*row, "hardware"}


def test_metrics_have_a_name_for_each_row(tmp_path: Path) -> None:
    other = replace(ERRORS, node_type="server", power_w=7.0)
    found = read(two_policies(tmp_path, [ERRORS, other]))
    (section,) = (
        section
        for section in schedule_files.schedule_sections(found)
        if isinstance(section, Predictability)
    )
    metrics = section.metrics()["schedule"]
    at = "cluster/drawn/heats/low/predictions/jobs/low"
    assert (metrics[f"{at}/board/power_w"], metrics[f"{at}/server/power_w"]) == (20.5, 7.0)


def test_times_of_probing_runs_are_measured(tmp_path: Path) -> None:
    probed = replace(ERRORS, of=PredictedRuns.PROBES, task="k_means")
    folders = two_policies(tmp_path, [probed, ERRORS])
    rows = schedule_files.schedule_table(read(folders), "predictions").rows
    assert [(row["of"], row["source"]) for row in rows] == [
        ("probes", "measured"), ("jobs", "simulated")
    ]  # fmt: skip


def test_a_summary_of_the_version_before_has_no_such_table(tmp_path: Path) -> None:
    folders = two_policies(tmp_path)
    for folder in folders:
        document = json.loads((folder / "summary.json").read_text())
        del document["predictions"]
        (folder / "summary.json").write_text(json.dumps(document | {"version": 4}))
    found = read(folders)
    assert {cell.summary.version for cell in found.cells} == {4}
    with pytest.raises(StopIteration):
        schedule_files.schedule_table(found, "predictions")
