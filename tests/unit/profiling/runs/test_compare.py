"""Outputs compared byte by byte and number by number."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.errors import UserError
from trimtab.profiling.runs.compare_outputs import compare_outputs

BYTES = Output(OutputComparison.DIGEST_FILE, "x")
NUMBERS = Output(OutputComparison.NUMERIC_FILE, "x", relative_tolerance=1e-3)


def difference(folder: Path, old: str, new: str, how: Output) -> str | None:
    (folder / "old").write_text(old)
    (folder / "new").write_text(new)
    found = compare_outputs(folder / "old", folder / "new", how)
    return None if found is None else str(found)


def test_bytes(tmp_path: Path) -> None:
    assert difference(tmp_path, "one\ntwo\n", "one\ntwo\n", BYTES) is None
    told = difference(tmp_path, "one\ntwo\n", "one\ntoo\n", BYTES)
    assert told is not None and "2" in told and "two" in told and "too" in told
    assert difference(tmp_path, "one", "one more", BYTES) is not None


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        ('{"loss": 1.0, "n": [1, 2]}', '{"n": [1, 2], "loss": 1.0005}', True),
        ('{"loss": 1.0}', '{"loss": 1.01}', False),
        ('{"loss": 1.0}', '{"loss": 1.0, "more": 1}', False),
        ('{"loss": NaN}', '{"loss": NaN}', True),
        ("epoch,loss\n1,0.50000\n", "epoch,loss\n1,0.50001\n", True),
        ("epoch,loss\n1,0.5\n", "epoch,loss\n1,0.6\n", False),
        ("1.0 2.0\n", "1.0 2.0 3.0\n", False),
        ("name a 1.0\n", "name b 1.0\n", False),
        ('{"ok": true}', '{"ok": 1}', False),
        ("digest 5e98765\n", "digest 7e12345\n", False),
        ("digest 5e98765\n", "digest 5e98765\n", True),
        ('{"x": 5e98765}', '{"x": 7e12345}', False),
        ("1" * 500, "1" * 499 + "2", False),
        ("1" * 350, "1" * 349 + "2", False),
        ("loss Infinity\n", "loss inf\n", True),
    ],
)
def test_numbers(tmp_path: Path, old: str, new: str, equal: bool) -> None:
    assert (difference(tmp_path, old, new, NUMBERS) is None) == equal


numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.dictionaries(st.text("abc", min_size=1), numbers, min_size=1), st.floats(0, 5e-4))
def test_within_the_tolerance_is_equal(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, float], share: float
) -> None:
    folder = tmp_path_factory.getbasetemp()
    nearby = {key: value * (1 + share) for key, value in values.items()}
    assert difference(folder, json.dumps(values), json.dumps(nearby), NUMBERS) is None


STDOUT = Output(OutputComparison.NUMERIC_STDOUT, relative_tolerance=1e-3)


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        ("loss=0.5000, step 12", "loss=0.5001, step 12", True),
        ("loss=0.5000, step 12", "loss=0.5100, step 12", False),
        ("(-1.5e-3)[2.]", "(-1.5001e-3)[2.0]", True),
        ("v1.2.3-rc1", "v1.2.4-rc1", False),
        ("layer12.weight", "layer13.weight", False),
        ("took 1.0s", "took 1.0 s", False),
    ],
)
def test_numbers_inside_words(tmp_path: Path, old: str, new: str, equal: bool) -> None:
    assert (difference(tmp_path, old, new, STDOUT) is None) == equal


def test_lines_but_those_that_change(tmp_path: Path) -> None:
    lines = Output(OutputComparison.LINES, changing=["^took", r"pid=\d+"])
    assert difference(tmp_path, "a\ntook 1 s\nb", "a\nb\ntook 2 s\n", lines) is None
    told = difference(tmp_path, "took 1 s\na\n", "a\nb pid=7\nc\n", lines)
    assert told == "line 3: (nothing) before, 'c' after"


def test_a_command_is_the_judge(tmp_path: Path) -> None:
    judge = Output(OutputComparison.COMMAND, command=["diff", "-i", "{before}", "{after}"])
    assert difference(tmp_path, "One\n", "one\n", judge) is None
    told = difference(tmp_path, "one\n", "two\n", judge)
    assert told and told.startswith("diff ended with exit code 1 (1c1") and "> two" in told
    with pytest.raises(UserError, match=r"output\.command: no-such-judge"):
        difference(tmp_path, "", "", Output(OutputComparison.COMMAND, command=["no-such-judge"]))


def test_only_the_end_counts(tmp_path: Path) -> None:
    assert difference(tmp_path, "one", "two", Output(OutputComparison.EXIT_CODE)) is None
