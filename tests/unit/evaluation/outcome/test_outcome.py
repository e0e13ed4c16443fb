"""What a person pays for: the whole environment, of which the parts add up, in one sentence."""

import json
from dataclasses import replace
from pathlib import Path

import experiment_files as files
import pytest

from trimtab.errors import UserError
from trimtab.evaluation.evaluate import evaluate
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.whole_environment import WholeEnvironment
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.records.misses.settling import Risk
from trimtab.records.outcome import BytesBeforeAfter, EnvironmentOutcome, Outcome
from trimtab.records.verdict import VerifiedWorkload

RISK = Risk(20, 1, 0.05, 10, 0, 0.259)


def environment(folder: Path) -> EnvironmentOutcome:
    (found,) = outcome_in(folder).environments
    return found


def test_the_parts_add_up_to_the_whole(tmp_path: Path) -> None:
    found = environment(files.weigh(files.write_debloat(tmp_path)))
    parts = {each.name: (each.files, each.before_bytes, each.after_bytes) for each in found.parts}
    assert parts == {
        "libraries that were loaded": (4, 16_000_000, 6_000_000),
        "libraries that no run loaded": (1, 2_000_000, 2_000_000),
        "Python files that were read": (3, 3_000_000, 3_000_000),
        "Python files that no run read": (4, 4_000_000, 4_000_000),
        "other files that were read": (1, 1_000_000, 1_000_000),
        "other files that no run read": (8, 14_000_000, 8_000_000),
        "folders, links, and what brings back": (None, 0, 0),
    }  # fmt: skip
    assert sum(part.before_bytes for part in found.parts) == found.disk.before_bytes
    assert sum(part.after_bytes for part in found.parts) == found.disk.after_bytes


def test_what_would_bring_more_is_the_most_first(tmp_path: Path) -> None:
    found = environment(files.weigh(files.write_debloat(tmp_path)))
    assert [(more.what, more.at_most_bytes, more.option) for more in found.more] == [
        ("files that no run read", 12_000_000, "remove: files"),
        ("libraries that no run loaded", 2_000_000, "remove: libraries"),
        ("loaded libraries left whole: no .eh_frame", 1_000_000, ""),
    ]


def test_the_sentence_says_what_it_was_and_is_and_with_what_risk(tmp_path: Path) -> None:
    verified = [VerifiedWorkload("lenet5_train", 3, True, 3, "digest_file", 4, 4, 1, RISK)]
    found = environment(files.weigh(files.write_debloat(tmp_path, verified=verified)))
    assert found.sentence == (
        "lenet5_train: 40.0 → 24.0 MB (40.0 % less) on disk; 20.0 → 11.0 MB (45.0 % less)"
        " compressed; the output was equal in 3 of 3 runs; 10 runs cannot promise a risk"
        " below 26%."
    )
    assert found.verified is True


def test_a_change_says_less_or_more() -> None:
    assert str(BytesBeforeAfter(1_000_000, 900_000)) == "1.0 → 0.9 MB (10.0 % less)"
    assert str(BytesBeforeAfter(1_000_000, 1_100_000)) == "1.0 → 1.1 MB (10.0 % more)"
    assert str(BytesBeforeAfter(0, 1_100_000)) == "0.0 → 1.1 MB"


def test_a_verification_that_failed_or_was_not_made_is_said(tmp_path: Path) -> None:
    failed = files.weigh(files.write_debloat(tmp_path / "a", **files.FAILED))
    assert "verification failed: another output, line 3." in environment(failed).sentence
    folder = files.weigh(files.write_debloat(tmp_path / "b"))
    (folder / "verify.json").rename(tmp_path / "verify.json")
    assert "not verified yet" in environment(folder).sentence
    assert environment(folder).verified is None
    (folder / "failure").mkdir()
    (tmp_path / "a/verify.json").rename(folder / "failure/verify.json")
    assert environment(folder).verified is False


def test_an_experiment_begins_with_its_title_and_the_whole(tmp_path: Path) -> None:
    inputs = files.write_experiment(tmp_path)
    files.weigh(tmp_path / "debloat")
    report = evaluate(replace(inputs, title="Digits <on> two cores"), tmp_path / "out")
    page = report.read_text()
    assert "<h1>Digits &lt;on&gt; two cores</h1>" in page
    places = ["Output equal", "Next:", "Loaded libraries, on disk", '<p class="outcome">',
              '<h2 id="files">', "What would bring more"]  # fmt: skip
    assert sorted(places, key=page.index) == places
    written = Outcome.read(tmp_path / "out/outcome.json")
    assert written.title == "Digits <on> two cores"
    assert written == outcome_in(tmp_path / "out")
    assert written.environments == outcome_in(tmp_path / "debloat").environments
    parts = (tmp_path / "out/tables/environment_parts.csv").read_text()
    assert parts.count("\n") == 1 + 7
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert metrics["targets"]["lenet5_train"]["before_mb"] == 40


def test_cards_are_of_the_whole_and_then_of_what_nothing_used(tmp_path: Path) -> None:
    inputs = files.write_experiment(tmp_path)
    files.weigh(tmp_path / "debloat")
    cards = [card for _, card in WholeEnvironment(load(inputs)).key_figures()]
    assert [(card.label, card.effect) for card in cards] == [
        ("Whole environment, on disk", "better"),
        ("Whole environment, compressed", "better"),
        ("Libraries that no run loaded", "unclear"),
        ("Python files that no run read", "unclear"),
        ("Other files that no run read", "better"),
    ]


def test_a_folder_without_results_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected the workspace of `trimtab debloat`"):
        outcome_in(tmp_path)
