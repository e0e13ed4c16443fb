"""The errors of predictions in the report: those of the cells, and none of an old summary."""

import json
from pathlib import Path

import experiment_files as files
import pytest
import schedule_files
from schedule_files import allocation

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.tables import Table
from trimtab.records.figures import PredictionErrors

ERRORS = PredictionErrors(
    job_class="low",
    node_type="board",
    jobs=3,
    run_time_s=40.0,
    energy_j=820.0,
    power_w=20.5,
    run_time_error_pct=18.0,
    energy_error_pct=15.0,
    power_error_pct=2.5,
)


def two_policies(folder: Path) -> list[Path]:
    return [
        schedule_files.write_cell(
            folder / "cluster/drawn" / policy,
            policy,
            policy,
            [allocation(0, 0, 11, "finished"), allocation(1, 0, 31, "finished", node=1)],
            ("server", "board"),
            trace="drawn",
            baseline=policy == "k8s",
            predictions=[ERRORS] if policy == "heats" else [],
        )
        for policy in ("k8s", "heats")
    ]


def read(folders: list[Path]) -> Schedules:
    return load(files.inputs([], [], schedule=tuple(folders))).schedules


def test_the_rows_are_those_of_the_cells(tmp_path: Path) -> None:
    table: Table = schedule_files.schedule_table(read(two_policies(tmp_path)), "predictions")
    (row,) = table.rows
    assert (row["policy"], row["job_class"], row["node_type"]) == ("heats", "low", "board")
    assert (row["run_time_error_pct"], row["power_error_pct"]) == (18.0, 2.5)
    assert row["source"] == "simulated" and "Figure 3.3" in table.title
    assert {column.key for column in table.columns} <= {*row, "hardware"}


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
