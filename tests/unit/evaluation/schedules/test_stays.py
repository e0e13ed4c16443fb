"""Lanes never overlap, and a window shows all that ran in it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import schedule_files
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.evaluation.clusters.gantt import (
    first_allocations,
    gantt_name,
    lane_height,
    lanes,
    layout,
)
from trimtab.evaluation.inputs.stages.schedule import read_cells

STAY = st.tuples(
    st.integers(0, 5), st.integers(0, 20), st.integers(1, 9), st.sampled_from([0, 500, 1000, 2500])
)


def frame_of(allocations: list[tuple[int, int, int, int]]) -> pd.DataFrame:
    rows = [
        schedule_files.allocation(job, start, start + lasting, "finished", cpu_milli=cpu)
        for job, start, lasting, cpu in allocations
    ]
    return pd.DataFrame(rows).sort_values("start_s").reset_index(drop=True)


@settings(max_examples=100)
@given(st.lists(STAY, min_size=1, max_size=25))
def test_allocations_at_one_time_never_share_a_lane(
    allocations: list[tuple[int, int, int, int]],
) -> None:
    frame = frame_of(allocations)
    rows: list[dict[str, Any]] = frame.to_dict("records")
    low = list(lanes(frame))
    assert min(low) == 0
    for i, a in enumerate(rows):
        for j in range(i):
            b = rows[j]
            if a["start_s"] < b["end_s"] and b["start_s"] < a["end_s"]:
                assert low[i] >= low[j] + lane_height(b) or low[j] >= low[i] + lane_height(a)


def test_equal_tasks_fill_the_cores_and_no_more() -> None:
    frame = frame_of([(job, 2 * (job // 4), 2, 1000) for job in range(12)])
    assert list(lanes(frame)) == [0, 1000, 2000, 3000] * 3


def test_a_job_keeps_its_lane_when_its_frequency_changes() -> None:
    frame = frame_of([(0, 0, 5, 1000), (1, 0, 9, 1000), (1, 9, 3, 1000)])
    assert list(lanes(frame)) == [0, 1000, 1000]


def test_a_window_ends_where_the_next_allocation_begins(tmp_path: Path) -> None:
    (cell,) = read_cells(schedule_files.write_dias(tmp_path)[:1])
    window = first_allocations(cell, 2)
    assert window and (window.of, window.until_s) == (4, 7.0)
    assert list(window.allocations["end"]) == ["evicted", "finished"]
    everything = first_allocations(cell, 4)
    assert everything and everything.until_s == 27.0
    assert len(everything.allocations) == 4


def test_a_allocation_that_goes_on_is_cut_at_the_window(tmp_path: Path) -> None:
    allocations = [(0, 0, 50), (1, 1, 4), (2, 6, 9)]
    rows = [
        schedule_files.allocation(job, start, end, "finished", cpu_milli=1000)
        for job, start, end in allocations
    ]
    (cell,) = read_cells([schedule_files.write_cell(tmp_path / "x", "x", "X", rows)])
    window = first_allocations(cell, 2)
    assert window and list(window.allocations["end_s"]) == [6.0, 4.0]
    assert list(window.allocations["end"]) == ["goes on", "finished"]


def test_a_burst_longer_than_the_limit_is_shown_to_its_end(tmp_path: Path) -> None:
    rows = [schedule_files.allocation(job, 0, 3 + job, "finished") for job in range(5)]
    (cell,) = read_cells([schedule_files.write_cell(tmp_path / "x", "x", "X", rows)])
    window = first_allocations(cell, 3)
    assert window and (len(window.allocations), window.until_s, window.of) == (3, 5.0, 5)


def test_a_allocation_that_was_never_ready_is_all_set_up(tmp_path: Path) -> None:
    rows = [
        schedule_files.allocation(0, 0, 3, "evicted", ready_s=None),
        schedule_files.allocation(0, 3, 9, "finished"),
    ]
    (cell,) = read_cells([schedule_files.write_cell(tmp_path / "x", "x", "X", rows)])
    window = first_allocations(cell, 9)
    assert window
    bars, bands = layout(cell, window)
    assert [(bar["part"], bar["from_s"], bar["to_s"], bar["end"]) for bar in bars] == [
        ("set-up", 0, 3, "evicted"),
        ("set-up", 3, 4, ""),
        ("running", 4, 9, "finished"),
    ]
    assert [band["node"] for band in bands] == ["engine 0"]
    assert {bar["cores"] for bar in bars} == {2.0}
    assert all(0 <= bar["top"] < bar["bottom"] <= bands[0]["bottom"] for bar in bars)


@pytest.mark.parametrize("policy", ["../x", "a b", "<b>"])
def test_a_charts_name_is_a_file_name(tmp_path: Path, policy: str) -> None:
    (cell,) = read_cells(schedule_files.write_dias(tmp_path)[:1])
    cell = replace(cell, summary=cell.summary.model_copy(update={"policy": policy}))
    assert not set(gantt_name(cell)) & set("/ <>")
