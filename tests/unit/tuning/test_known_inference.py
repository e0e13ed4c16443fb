"""The table of what was measured: shared, whole, found again."""

import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.errors import TrimtabError
from trimtab.records.tuning.inference import MeasuredInference
from trimtab.tuning.inference.known import KnownInference

PROGRAM = "0" * 64


def of(path: Path, machine: str = "host", program: str = PROGRAM) -> KnownInference:
    return KnownInference(path / "known.json", machine, program)


def measured(size: int, time_s: float = 0.1) -> MeasuredInference:
    return MeasuredInference({"batch_size": size}, time_s, 1.0, "modelled", [time_s])


def test_it_is_found_by_architecture_machine_and_program(tmp_path: Path) -> None:
    known = of(tmp_path)
    assert known.of({"layers": 18}) == []
    known.add({"layers": 18}, measured(1))
    known.add({"layers": 34}, measured(1, 0.2))
    known.add({"layers": 18}, measured(8))
    known.add({"layers": 18}, measured(1, 0.3))  # the later counts
    assert of(tmp_path).of({"layers": 18}) == [measured(8), measured(1, 0.3)]
    assert of(tmp_path).of({"layers": 34}) == [measured(1, 0.2)]
    for other in ({}, {"layers": 50}, {"layers": 18, "wide": True}, {"layers": "18"}):
        assert known.of(other) == []
    assert known.of({"layers": 18.0}) != []
    assert of(tmp_path, machine="other").of({"layers": 18}) == []
    assert of(tmp_path, program="1" * 64).of({"layers": 18}) == []
    assert of(tmp_path).of({"layers": True}) == []


WRITER = """
import sys
from pathlib import Path
from trimtab.records.tuning.inference import MeasuredInference
from trimtab.tuning.inference.known import KnownInference
known = KnownInference(Path(sys.argv[1]), "host", "0" * 64)
for size in range(1, 16):
    known.add({"of": sys.argv[2]}, MeasuredInference({"batch_size": size}, 0.1, 1.0, "", [0.1]))
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "known.json")]
    writers = [subprocess.Popen([*command, name]) for name in "ab"]
    assert [one.wait() for one in writers] == [0, 0]
    for name in "ab":
        sizes = [one.configuration["batch_size"] for one in of(tmp_path).of({"of": name})]
        assert sizes == list(range(1, 16))
    assert [path.name for path in tmp_path.iterdir()] == ["known.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 1, "architectures": [{}]}', '{"version": 2}']
)
def test_a_damaged_one_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "known.json").write_text(text)
    with pytest.raises(TrimtabError, match=r"known.json: .*run the stage `tune` again"):
        of(tmp_path).of({})
    with pytest.raises(TrimtabError, match=r"known.json"):
        of(tmp_path).add({}, measured(1))
    assert (tmp_path / "known.json").read_text() == text


def test_what_was_measured_has_times_or_a_failure() -> None:
    with pytest.raises(ValueError, match="expected times, or a failure"):
        MeasuredInference({"batch_size": 1})
