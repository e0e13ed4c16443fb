"""What two runs of a program agree on, and that it still sees another result."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.profiling.runs.comparable import changing_lines, remark_on, strongest
from trimtab.profiling.runs.compare_outputs import compare_outputs

PYTEST = """\
============================= test session starts ==============================
rootdir: /home/me, 2026-03-01 12:00:59
collected 3 items

test_it.py ..F                                                           [100%]
=========================== {failed} failed, {passed} passed in {time}s ===========================
"""


def outputs(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"output-{number}" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a\nb\n", "a\nb\n", OutputComparison.DIGEST_STDOUT),
        ("loss=0.50000001, n=3\n", "loss=0.50000002, n=3\n", OutputComparison.NUMERIC_STDOUT),
        ("done\nat 1772366400123\n", "done\nat 1772366400124\n", OutputComparison.LINES),
        ("loss 1.5 at step 7\n", "loss 1.6 at step 7\n", OutputComparison.EXIT_CODE),
        ("result 7\ntook 0.12 s\n", "result 7\ntook 0.97 s\n", OutputComparison.LINES),
        ("result 7\nworker 12\n", "result 7\nworker 12\nretried\n", OutputComparison.LINES),
        ("result 7\nhost ab12.x\n", "result 7\nhost zz9.x\n", OutputComparison.LINES),
        ("8f3a\n", "77cc\n", OutputComparison.EXIT_CODE),
        ("", "once\n", OutputComparison.EXIT_CODE),
    ],
)
def test_the_strictest_comparison_that_both_pass(
    tmp_path: Path, one: str, other: str, expected: OutputComparison
) -> None:
    paths = outputs(tmp_path, one, other)
    assert strongest(*paths, None).compare == expected
    in_file = strongest(*paths, "result").compare
    assert in_file == expected.replace("stdout", "file")


def test_what_pytest_writes_is_compared_but_for_its_time(tmp_path: Path) -> None:
    texts = [PYTEST.format(failed=1, passed=2, time=time) for time in ("0.12", "10.07", "3.999")]
    first, second, third = outputs(tmp_path, *texts)
    chosen = strongest(first, second, None)
    assert chosen.compare == OutputComparison.LINES and len(chosen.changing) == 1
    assert compare_outputs(first, third, chosen) is None
    assert "in 1 of 6 lines" in remark_on(first, chosen)
    other = tmp_path / "other"
    for text in (
        PYTEST.format(failed=2, passed=1, time="0.12"),
        PYTEST.format(failed=1, passed=2, time="0.12").replace("..F", "F.."),
        texts[0] + "Segmentation fault\n",
    ):
        other.write_text(text)
        assert compare_outputs(first, other, chosen) is not None


def test_a_result_beside_a_time_is_still_compared(tmp_path: Path) -> None:
    """Each epoch's loss stays in the expression for its line."""
    lines = [f"epoch {n} loss {1 / n:.4f} took {{0}}.{n} s" for n in range(1, 400)]
    text = "\n".join(lines)
    first, second = outputs(tmp_path, text.format(1), text.format(23))
    chosen = strongest(first, second, None)
    assert chosen.compare == OutputComparison.EXIT_CODE  # every line changes
    first, second, third = outputs(tmp_path, *(f"start\n{text.format(n)}" for n in (1, 23, 456)))
    chosen = strongest(first, second, None)
    assert compare_outputs(first, third, chosen) is None
    third.write_text(third.read_text().replace("epoch 7 loss 0.1429", "epoch 7 loss 0.1428"))
    difference = compare_outputs(first, third, chosen)
    assert difference is not None and "epoch 7 loss 0.1428" in difference.after


def test_a_clock_that_goes_on_is_no_difference(tmp_path: Path) -> None:
    clock = "2026-{}-{} {}:{}:{} done in {} ms, 12 rows\nthe end\n"
    times = [("02", "28", "23", "59", "59", 7), ("02", "28", "23", "59", "58", 11),
             ("03", "01", "00", "00", "01", 123)]  # fmt: skip
    first, second, third = outputs(tmp_path, *(clock.format(*time) for time in times))
    chosen = strongest(first, second, None)
    assert compare_outputs(first, third, chosen) is None
    third.write_text(third.read_text().replace("12 rows", "13 rows"))
    assert compare_outputs(first, third, chosen) is not None


words = st.text("ab .0129=:[(*\\", max_size=12)
texts = st.lists(words, max_size=12).map("\n".join)


@given(texts, texts)
def test_every_choice_holds_for_what_it_was_chosen_by(
    tmp_path_factory: pytest.TempPathFactory, one: str, other: str
) -> None:
    first, second = outputs(tmp_path_factory.getbasetemp(), one, other)
    for pattern in changing_lines(first, second):
        re.compile(pattern)
    chosen = strongest(first, second, None)
    assert compare_outputs(first, second, chosen) is None
    assert compare_outputs(second, first, chosen) is None
    assert "\n" not in remark_on(first, chosen)


def test_what_is_no_text_has_no_numbers_and_no_lines_to_compare(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"one\ntwo\xff\n\x01")
    second.write_bytes(b"one\ntwo\xff\n\x02")
    assert strongest(first, second, "model.bin") == Output(OutputComparison.EXIT_CODE)


@pytest.mark.parametrize(
    ("said", "likewise", "other"),
    [
        (
            "==== 1 passed in 0.02s ====",
            "=== 1 passed in 10.01s ===",
            "==== 2 passed in 0.02s ====",
        ),
        (
            "epoch 1 loss 0.25 took 0.5 s",
            "epoch 1 loss 0.25 took 1.9 s",
            "epoch 1 loss 0.26 took 0.5 s",
        ),
    ],
)
def test_durations_that_two_runs_agree_on_by_chance_are_not_compared(
    tmp_path: Path, said: str, likewise: str, other: str
) -> None:
    first, again = (tmp_path / name for name in ("first", "again"))
    for path in (first, again):
        path.write_text(f"result 7\n{said}\n")
    chosen = strongest(first, again, None)
    again.write_text(f"result 7\n{likewise}\n")
    assert compare_outputs(first, again, chosen) is None
    for wrong in (f"result 7\n{other}\n", f"result 8\n{said}\n"):
        again.write_text(wrong)
        assert compare_outputs(first, again, chosen) is not None
