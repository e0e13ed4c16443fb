"""A script that takes any option is told to ignore what no script names."""

import sys
from pathlib import Path
from typing import Any

import pytest

from trimtab.cli.tuning.ignored_options import ignored_options
from trimtab.cli.tuning.program import TunedProgram

SCRIPT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", type=float)
parser.add_argument("--epochs", type=int)
options, _ = parser.parse_known_args()
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def warnings(name: str, *words: str) -> list[str]:
    given: Any = TunedProgram([f"training.{name}=1:9"], "1:3")
    return list(ignored_options(given.workload([sys.executable, "train.py", *words])))


def test_what_is_misspelt_is_told_with_what_may_be_meant() -> None:
    [warning] = warnings("learnin_rate")
    assert "train.py ignores options that it does not know (parse_known_args)" in warning
    assert "names --learnin-rate; did you mean --learning-rate?" in warning
    assert warnings("learning_rat") and warnings("rate")  # parts of the name are none


def test_what_is_named_or_has_a_place_is_not_told(here: Path) -> None:
    assert warnings("learning_rate") == []
    assert warnings("width", "{width}") == []
    (here / "model.py").write_text("parser.add_argument('--width')")
    assert warnings("width") == []
    (here / "odd.py").mkdir()
    assert warnings("width") == []


def test_a_script_that_refuses_what_it_does_not_know_is_left_to_do_so(here: Path) -> None:
    (here / "train.py").write_text(SCRIPT.replace("options, _ = parser.parse_known_args", "parser"))
    assert warnings("learnin_rate") == []
