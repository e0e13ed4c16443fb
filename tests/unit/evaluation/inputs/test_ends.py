"""Results of old, whose programs failed without anybody having asked for it: none passes."""

import json
import shutil
from pathlib import Path
from typing import Any

import experiment_files as files
import pytest

from trimtab.cli.verbs import command_line
from trimtab.errors import TrimtabError
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.whole_environment import WholeEnvironment
from trimtab.evaluation.outcome.comparison_page import ComparisonSide, comparison_page
from trimtab.evaluation.outcome.read import outcome_in
from trimtab.evaluation.report.page import render
from trimtab.evaluation.runs.debloated import Verification
from trimtab.records.outcome import Outcome
from trimtab.records.usage import Usage
from trimtab.records.verdict import VerifiedWorkload

app = command_line()

NAME = "lenet5_train"
NOTE = (
    "the program as it is ended with exit code 1 after 'no module': every run has to end so;"
    " --ends-with 0 refuses it"
)


def results(
    folder: Path, exit_code: int, ends_with: str | None = None, drive: list[str] | None = None
) -> Path:
    """Of an experiment whose runs all ended with `exit_code`, and were once found equal."""
    runs = [row | {"exit_code": exit_code} for row in files.verify_runs(NAME)]
    server: dict[str, Any] = {"drive": drive or [], "stop": "SIGTERM"}
    workload = {"name": NAME, "ends_with": ends_with, "server": server}
    written = files.weigh(files.write_debloat(folder, runs=runs))
    (written / "stage.json").write_text(json.dumps({"workloads": [workload]}))
    return written


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        ((0,), True),
        ((1,), False),
        ((5,), False),
        ((-11,), False),
        ((3, "3"), True),
        ((-15, None, ["curl"]), True),
        ((-15,), False),
    ],
)
def test_an_end_that_nobody_asked_for(tmp_path: Path, given: tuple[Any, ...], passes: bool) -> None:
    """In the report, in `trimtab check` and in `trimtab advanced compare`."""
    debloat = results(tmp_path / "d", *given)
    profile = files.write_profile(tmp_path / "p", NAME)
    section = Verification(load(files.inputs([profile], [debloat])))
    [verdict] = [str(part.html) for part in section.top()]
    [found] = outcome_in(debloat).environments
    assert section.passed is found.verified is passes
    page = render(section.measurements, [WholeEnvironment(section.measurements)], Outcome())
    assert ('class="better"' in page) is passes  # the card of a figure
    assert ("Output equal" in verdict) is ("output was equal" in found.sentence) is passes
    if not passes:
        for said in (verdict, found.sentence):
            end = f"with exit code {given[0]}" if given[0] > 0 else f"by signal {-given[0]}"
            assert f"it ended {end}; if that is right" in said
            assert "ends_with" in said


@pytest.mark.parametrize("is_verified", [True, False])
def test_a_workspace_by_its_note(tmp_path: Path, is_verified: bool) -> None:
    """Also where it was not verified yet; a workspace of now has no such note."""
    folder = results(tmp_path, 1, "1")
    if not is_verified:
        (folder / "verify.json").unlink()
    usage = Usage(workload="program", command=["x"], complete=True)
    usage.write(folder / "usage.json")
    assert outcome_in(folder).environments[0].verified is (True if is_verified else None)
    usage.model_copy(update={"notes": ["other", NOTE]}).write(folder / "usage.json")
    [found] = outcome_in(folder).environments
    assert found.verified is False
    assert "ended with exit code 1 after 'no module'; if that is right" in found.sentence


def test_an_end_that_was_asked_for_is_told_as_such(tmp_path: Path) -> None:
    ended = "ended with exit code 3, as asked"
    told = VerifiedWorkload(NAME, 3, True, 3, "digest_file", ended=ended)
    debloat = files.weigh(files.write_debloat(tmp_path / "d", verified=[told]))
    section = Verification(load(files.inputs([files.write_profile(tmp_path / "p")], [debloat])))
    assert ended in str(next(iter(section.top())).html)
    assert f"3 of 3 runs, which {ended}" in outcome_in(debloat).environments[0].sentence


def test_an_outcome_of_old_says_that_ends_were_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Written before ends were judged, by a program that died at its first import."""
    shutil.copy(Path(__file__).parent / "recorded/outcome.json", tmp_path)
    [found] = outcome_in(tmp_path).environments
    assert found.verified is None
    assert "how its program ended was not recorded" in found.sentence
    assert "40.0 → 24.0 MB (40.0 % less) on disk" in found.sentence
    assert "equal" not in found.sentence
    app(["check", str(tmp_path)], standalone_mode=False)
    assert "how its program ended was not recorded" in " ".join(capsys.readouterr().out.split())
    page = comparison_page((ComparisonSide("A", [found]), ComparisonSide("B", [found])), [], 0)
    assert "Output equal" not in page and "was not recorded" in page


@pytest.mark.parametrize("text", ["[]", "{", '{"workloads": [{}]}', '{"workloads": 3}'])
def test_a_stage_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    folder = results(tmp_path, 0)
    (folder / "stage.json").write_text(text)
    with pytest.raises(TrimtabError, match=r"stage\.json: not the stage"):
        outcome_in(folder)
