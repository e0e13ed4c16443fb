"""The report says what snapshots save, with the pairs that were measured."""

from dataclasses import replace
from pathlib import Path

import experiment_files as files
import pytest

from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.changes import NO_CHANGE, Effect
from trimtab.evaluation.report.first_page import strip_of
from trimtab.evaluation.report.key_figures import About
from trimtab.evaluation.report.section import find_sections
from trimtab.evaluation.report.stages import stages_of
from trimtab.evaluation.runs.run_cost import RunCost
from trimtab.evaluation.runs.saved_starts import StartsFromSnapshots
from trimtab.files import read_json
from trimtab.records.imports.saved_starts import SavedStarts, WorkloadStart

CLEAR = [(0.4, 0.1), (0.3, 0.15), (0.2, 0.08)]  # ratios 0.25, 0.5 and 0.4
UNCLEAR = [(0.4, 0.1), (0.3, 0.33), (0.2, 0.1)]
SAVED = WorkloadStart("lenet5_train", 45_000_000, 0.3, 0.1, CLEAR, "it reads a clock")
USUAL = WorkloadStart("other", 0, None, None, [], "it saves too little")


def experiment(folder: Path, *starts: WorkloadStart, are_given: bool = True) -> EvaluationInputs:
    debloat = files.write_debloat(folder / "debloat")
    profile = files.write_profile(folder / "profile")
    path = debloat / "start.json"
    SavedStarts(target="lenet5_train", hardware="desk", workloads=[*starts]).write(path)
    inputs = files.inputs([profile], [debloat])
    if are_given:
        inputs.files["debloat"].append(path)  # type: ignore[attr-defined]
    return inputs


def section(folder: Path, *starts: WorkloadStart) -> StartsFromSnapshots:
    return StartsFromSnapshots(load(experiment(folder, *starts)))


def test_a_row_has_the_pairs_or_the_reason(tmp_path: Path) -> None:
    saved, usual = section(tmp_path, SAVED, USUAL).tables[0].rows
    assert (saved["pairs"], saved["usual_s"], saved["snapshot_s"]) == (3, 0.3, 0.1)
    assert saved["start_reduction_pct"] == pytest.approx(60)
    assert saved["start_reduction_low_pct"] == pytest.approx(50)
    assert saved["start_reduction_high_pct"] == pytest.approx(75)
    assert (saved["snapshot_mb"], saved["reason"]) == (45, "it reads a clock")
    assert (saved["source"], usual["source"]) == ("measured", "measured")
    assert "usual_s" not in usual and usual["reason"] == "it saves too little"


def test_the_card_has_seconds_and_is_only_coloured_if_all_pairs_agree(tmp_path: Path) -> None:
    [(name, card)] = section(tmp_path / "clear", SAVED, USUAL).key_figures()
    assert (name, card.label, card.effect) == ("lenet5_train", "Start", Effect.BETTER)
    assert card.change == "\N{MINUS SIGN}60.0\N{NO-BREAK SPACE}%"
    assert card.detail.startswith("0.30 → 0.10 s from a snapshot; pairs ")
    unclear = WorkloadStart("lenet5_train", 1, 0.3, 0.1, UNCLEAR, "")
    [(_, card)] = section(tmp_path / "unclear", unclear).key_figures()
    assert (card.change, card.effect) == (NO_CHANGE, Effect.UNCLEAR)


def test_it_is_the_start_of_page_one(tmp_path: Path) -> None:
    sections = [kind(load(experiment(tmp_path, SAVED))) for kind in find_sections()]
    stages = stages_of((each for each in sections if each.applies), set())
    [start] = [each.figure for each in strip_of(stages) if each.figure.about is About.START]
    assert "0.30 → 0.10 s" in start.detail


@pytest.mark.parametrize(
    ("pairs_s", "label"), [(CLEAR, "Usual start-up"), (UNCLEAR, "Start-up"), (None, "Start-up")]
)
def test_the_start_up_of_runs_is_the_usual_one_beside_a_snapshot(
    tmp_path: Path, pairs_s: list[tuple[float, float]] | None, label: str
) -> None:
    start = USUAL if pairs_s is None else replace(SAVED, pairs_s=pairs_s)
    cards = RunCost(load(experiment(tmp_path, start))).key_figures()
    assert [card.label for _, card in cards if card.about is About.START] == [label]


def test_the_report_and_its_files_have_it(tmp_path: Path) -> None:
    report = evaluate(experiment(tmp_path, SAVED, USUAL), tmp_path / "out")
    assert "0.30 → 0.10 s from a snapshot" in report.read_text()
    rows = (tmp_path / "out/tables/saved_starts.csv").read_text().splitlines()
    assert len(rows) == 3 and "it saves too little" in rows[2]
    starts = read_json(tmp_path / "out/metrics.json")["starts"]
    assert starts["lenet5_train/lenet5_train"]["usual_s"] == 0.3


@pytest.mark.parametrize(("starts", "are_given"), [([SAVED], False), ([], True)])
def test_usual_starts_leave_no_trace(
    tmp_path: Path, starts: list[WorkloadStart], are_given: bool
) -> None:
    """Such as of a document that the experiment has no longer."""
    inputs = experiment(tmp_path, *starts, are_given=are_given)
    assert not StartsFromSnapshots(load(inputs)).applies
