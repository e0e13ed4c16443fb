"""A trace with many classes: charts and page show those with the most jobs, and say so."""

from dataclasses import replace
from pathlib import Path

import pytest
import schedule_files

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.inputs.schedules import Cell, Schedules
from trimtab.evaluation.report.tables import is_published
from trimtab.evaluation.schedules.section import (
    MOST,
    OTHERS,
    SAID,
    shown_classes,
    with_shown_classes,
    without_other_classes,
)
from trimtab.records.trace_facts import TraceFacts

MINOR = [f"minor_{number}" for number in range(MOST)]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Schedules:
    folder: Path = tmp_path_factory.mktemp("schedules")
    return load(schedule_files.write_everything(folder)).schedules


@pytest.fixture(scope="module")
def many(found: Schedules) -> Schedules:
    """Beside low (2 jobs) and high (1 job) as many classes as are shown, of no jobs."""

    def cell(one: Cell) -> Cell:
        if one.summary.trace != "reference":
            return one
        minor = dict.fromkeys(MINOR, replace(one.classes["high"], jobs=0))
        summary = one.summary.model_copy(update={"classes": one.summary.classes | minor})
        return replace(one, summary=summary)

    def trace(one: TraceFacts) -> TraceFacts:
        arrivals = one.arrivals.classes
        minor = {name: [1] * len(arrivals["low"]) for name in MINOR}
        counts = replace(one.arrivals, classes=arrivals | minor)
        return one.model_copy(update={"arrivals": counts})

    return replace(
        found, cells=tuple(map(cell, found.cells)), traces=tuple(map(trace, found.traces))
    )


def test_few_classes_allocation_as_they_are(found: Schedules) -> None:
    few = with_shown_classes(found)
    assert [cell.classes for cell in few.cells] == [cell.classes for cell in found.cells]
    assert few.traces == found.traces
    table = schedule_files.schedule_table(found, "schedule")
    assert without_other_classes(table, found) is table
    assert not any(SAID in figure.caption for figure in schedule_files.schedule_figures(found))


def test_the_classes_with_the_most_jobs_are_shown(many: Schedules) -> None:
    shown = shown_classes(many)["cluster", "reference"]
    assert {"low", "high"} < shown and len(shown) == MOST
    few = with_shown_classes(many)
    assert all(len(cell.classes) <= MOST for cell in few.cells)
    # What arrives is still all of it.
    (trace,) = few.traces
    arrivals = trace.arrivals.classes
    assert arrivals[OTHERS] == [2] * len(arrivals["low"])
    arrived = [sum(map(sum, one.traces[0].arrivals.classes.values())) for one in (many, few)]
    assert arrived[0] == arrived[1]


def test_the_page_says_what_it_leaves_out(many: Schedules) -> None:
    whole = schedule_files.schedule_table(many, "schedule")
    table = without_other_classes(whole, many)
    assert f"{SAID}; the CSV has all." in table.caption
    assert len(table.rows) == len(whole.rows) - 2 * 3  # two classes of three policies
    assert [row for row in whole.rows if is_published(row)] == [
        row for row in table.rows if is_published(row)
    ]
    said = {
        figure.name for figure in schedule_files.schedule_figures(many) if SAID in figure.caption
    }
    assert {"response_against_baseline", "arrivals"} < said


def test_jobs_of_other_classes_are_in_the_gantt_chart(found: Schedules) -> None:
    only_low = replace(
        found,
        cells=tuple(
            _without_high(cell) for cell in found.cells if cell.summary.trace == "reference"
        ),
    )
    charts = {one.name: str(one.spec) for one in schedule_files.schedule_figures(only_low)}
    assert OTHERS in charts["gantt_cluster_reference_p"]


def _without_high(cell: Cell) -> Cell:
    return replace(cell.with_classes({"low"}), formula=None, real=None)
