"""The configurations that a search tries first, as typed in a file."""

import sys
from pathlib import Path

import pytest

from trimtab.cli.tuning.program import TunedProgram
from trimtab.cli.tuning.start_with import configurations_in
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError


def workload() -> Workload:
    parameters = ["training.rate=0.001:0.1:log", "model.width=16,32", "system.cores=1,2"]
    return TunedProgram(parameters, "1:2").workload([sys.executable, "train.py"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rate: 0.01", [{"training.rate": 0.01}]),
        ("- {rate: 0.01, model.width: 32}\n- {width: 16}",
         [{"training.rate": 0.01, "model.width": 32}, {"model.width": 16}]),
        ("name: best\nparameters: {rate: 0.05, width: 32, epochs: 4}\nenv: {A: b}",
         [{"training.rate": 0.05, "model.width": 32}]),
    ],
)  # fmt: skip
def test_parameters_and_lists_and_results(
    tmp_path: Path, text: str, expected: list[dict[str, float]]
) -> None:
    (tmp_path / "first.yaml").write_text(text)
    assert list(configurations_in(tmp_path / "first.yaml", workload())) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rates: 0.01", "unknown parameter rates; did you mean"),
        ("rate: 1", "rate: 1 given, expected"),
        ("width: 17", "width: 17 given, expected"),
        ("- 3", "expected parameters with values"),
        ("[]", "expected parameters with values"),
        ("", "expected parameters with values"),
        ("a: [", "first.yaml: "),
        ("\0", "first.yaml: "),
        ("rate: {a: 1}", "given, expected"),
    ],
)
def test_other_files(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "first.yaml").write_text(text)
    with pytest.raises(UserError, match=r"--start-with .*first\.yaml: ") as failed:
        configurations_in(tmp_path / "first.yaml", workload())
    assert says in str(failed.value)
    with pytest.raises(UserError, match=r"none\.yaml"):
        configurations_in(tmp_path / "none.yaml", workload())
