"""The same jobs in both environments: what debloating is worth to a cluster."""

from pathlib import Path

import experiment_files as files
import pytest
import schedule_files
from schedule_files import STAYS_OF, allocation, write_cell, write_trace

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.inputs.stages.schedule import read_cells
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.schedules.original_and_debloated import OriginalAndDebloated
from trimtab.records.trace_facts import ClassFacts, MeasuredWorkload, ServiceSource, TraceFacts

TRACES = {"slow": "original", "fast": "debloated"}


def facts(
    folder: Path, trace: str, work_s: tuple[float, ...], workload: str = "w", *same: str
) -> TraceFacts:
    """A trace of three jobs of one workload, in the environment of TRACES."""
    measured = MeasuredWorkload(
        workload, "desk", TRACES[trace], work_s, 1.0, 9, 9, 5.0, "modelled", same
    )
    path = write_trace(
        folder / trace,
        trace=trace,
        classes={
            "high": ClassFacts(1, 0.1, 3.0, [], measured),
            "low": ClassFacts(2, 0.2, 10.0, [], None),
        },
        service_source=ServiceSource.PROFILE,
    )
    return TraceFacts.read(path)


def cards(
    folder: Path, *traces: TraceFacts, unstable_because: str = ""
) -> list[tuple[str, KeyFigure]]:
    cells = [
        write_cell(
            folder / trace,
            "np",
            "NP",
            [allocation(*job) for job in allocations],
            trace=trace,
            unstable_because=unstable_because,
        )
        for trace, allocations in zip(
            TRACES, (STAYS_OF["p"][1], STAYS_OF["da_0_20"][1]), strict=True
        )
    ]
    schedules = Schedules(read_cells(cells), traces=traces)
    inputs = files.inputs([], [])
    section = OriginalAndDebloated(Measurements(inputs, {"schedule": schedules}))
    return list(section.key_figures())


def test_response_and_energy_are_compared_under_each_policy(tmp_path: Path) -> None:
    slow, fast = facts(tmp_path, "slow", (5.0, 6.0)), facts(tmp_path, "fast", (3.0, 4.0))
    found = cards(tmp_path, fast, slow)
    assert {title for title, _ in found} == {"slow → fast on cluster"}
    [(_, card)] = found
    assert card.title == "NP, debloated"
    figures = [card, *card.also]
    assert [figure.label for figure in figures] == ["Mean response", "Energy (modelled)"]
    # Both were simulated once: nothing is sure.
    assert all(figure.effect == "once" and "%" in figure.change for figure in figures)


def test_an_unstable_queue_is_not_compared(tmp_path: Path) -> None:
    slow, fast = facts(tmp_path, "slow", (5.0, 6.0)), facts(tmp_path, "fast", (3.0, 4.0))
    assert cards(tmp_path, fast, slow, unstable_because="the load is 1.3") == []


def test_service_times_that_are_the_same_in_both_are_said_to_be(tmp_path: Path) -> None:
    slow, fast = (facts(tmp_path, trace, (5.0, 6.0, 5.5, 6.0), "w", "work_s") for trace in TRACES)
    found = cards(tmp_path, slow, fast)
    assert found and all("the same in both" in card.detail for _, card in found)
    other = facts(tmp_path, "fast", (5.0, 5.5), "w", "cold_start_s")
    assert not any("the same" in card.detail for _, card in cards(tmp_path / "two", slow, other))


@pytest.mark.parametrize("workload", ["w", "another"])
def test_other_workloads_are_not_compared(tmp_path: Path, workload: str) -> None:
    slow = facts(tmp_path, "slow", (5.0,))
    fast = facts(tmp_path, "fast", (3.0,), workload)
    assert bool(cards(tmp_path, slow, fast)) is (workload == "w")


def test_traces_that_nobody_measured_have_no_card(tmp_path: Path) -> None:
    paths = schedule_files.write_everything(tmp_path).files["schedule"]
    traces = [TraceFacts.read(path) for path in paths if path.name == "trace.json"]
    assert traces and cards(tmp_path / "own", *traces) == []
