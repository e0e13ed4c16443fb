"""The table of published statements, against figures done by hand."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pytest
import schedule_files
from schedule_files import allocation

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.tables import Row

NODES = ("server", "board")
LASTED_S = {"kubernetes": 100.0, "heats_00": 90.0, "heats_rand": 110.0, "heats": 120.0}


def verdicts(folder: Path, trace: str = "heats_bursts", **changes: Any) -> dict[str, Row]:
    """Return the rows by statement, of one job that lasts so long under each policy."""
    folders = [
        schedule_files.write_cell(
            folder / "cluster" / trace / policy,
            policy,
            policy,
            [allocation(0, 0, lasts_s, "finished")],
            NODES,
            trace=trace,
            baseline=policy == "kubernetes",
            **changes,
        )
        for policy, lasts_s in LASTED_S.items()
    ]
    found = load(files.inputs([], [], schedule=tuple(folders))).schedules
    table = schedule_files.schedule_table(found, "schedule_verdicts")
    return {str(row["statement"]): row for row in table.rows}


def test_a_row_for_each_statement_about_the_cells(tmp_path: Path) -> None:
    rows = verdicts(tmp_path)
    assert len(rows) == 10  # of the 14 on chapter 3, four are about policies that are not here
    # Two nodes of 10 W idle and 20 W on top: energy is in proportion to the run time.
    row = rows["Figure 3.6, H = 0: energy"]
    assert (row["published_value"], row["quantity"]) == ("1.5", "energy, difference in %")
    assert row["ours"] == pytest.approx(-10.0)
    assert row["verdict"] == "differs"
    assert rows["Figure 3.6, H = 1: energy"]["ours"] == pytest.approx(20.0)
    row = rows["Figure 3.6, rand: faster than H = 1"]
    assert row["ours"] == pytest.approx(100 * (110 / 120 - 1))
    assert row["quantity"] == "run time, difference in %, from heats"
    assert row["verdict"] == "open"  # a direction, and one replication


def test_an_unstable_cell_is_given_no_difference(tmp_path: Path) -> None:
    row = verdicts(tmp_path, unstable_because="its load is 1.2")["Figure 3.6, H = 1: energy"]
    assert (row["ours"], row["verdict"]) == (None, "open")
    assert row["reason"] == "kubernetes is unstable: its load is 1.2"


def test_a_trace_that_no_statement_is_about_has_no_table(tmp_path: Path) -> None:
    with pytest.raises(StopIteration):
        verdicts(tmp_path, trace="bursts")


def test_waste_and_times_are_held_against_the_published_ones(tmp_path: Path) -> None:
    folders = [
        schedule_files.write_cell(
            tmp_path / "cluster" / trace / policy,
            policy,
            policy,
            [allocation(*of_job) for of_job in schedule_files.STAYS_OF["p"][1]],
            trace=trace,
            baseline=True,
        )
        for trace, policy in (("dias_two_priorities", "preemptive"), ("dias_triangle_count", "nps"))
    ]
    found = load(files.inputs([], [], schedule=tuple(folders))).schedules
    table = schedule_files.schedule_table(found, "schedule_verdicts")
    rows = {str(row["statement"]): row for row in table.rows}
    row = rows["Figure 4.6a, P: waste, roughly"]
    assert row["ours"] == pytest.approx(100 * 4 / 27) and row["verdict"] == "differs"
    row = rows["NPS, low: execution"]
    assert (row["ours"], row["quantity"]) == (pytest.approx(10.0), "mean execution, s")
    assert row["verdict"] == "differs" and row["published_value"] == "148.5"
    assert row["published_in"] == (
        "Towards Energy Efficiency by Leveraging Heterogeneity of Clusters and Applications, "
        "Table 4.2"
    )
