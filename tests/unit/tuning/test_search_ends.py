"""When a search ends before its plan: limits, and failures that no configuration mends."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spaces import choices, tuning
from test_search import search
from trials.trial_programs import workload

from trimtab.cli.tuning.limits import limits_of
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError, UserError
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.hyperband import brackets_of, with_trials
from trimtab.tuning.journal import TrialRecord
from trimtab.tuning.limits import SearchLimits

SPACE = tuning(epochs={"least": 1, "most": 2}, training={"width": choices(*range(1, 40))})
ARGPARSE = """
import argparse, trimtab_trial
parser = argparse.ArgumentParser()
parser.add_argument("--wdth", type=int)
parser.add_argument("--epochs", type=int)
given = parser.parse_args()
"""
REPORTS = """
for epoch in range(trimtab_trial.first_epoch(), int(given["epochs"])):
    trimtab_trial.epoch_end(epoch, accuracy=%s)
"""


def of_code(code: str) -> Workload:
    """A program that gets its parameters as options, `--width 3`."""
    head = "import sys, trimtab_trial, os\n"
    head += "given = dict(zip([word[2:] for word in sys.argv[1::2]], sys.argv[2::2]))\n"
    return workload(head + code)


def told(*results: tuple[float, int, float | None], energy_j: float = 2.0) -> list[Any]:
    """Trials of the journal with one result each: its end, its epochs and its score."""
    return [
        TrialRecord(
            0, {}, {} if score is None else {Budget(epochs): score}, None, True, {},
            {Budget(epochs): {"ended_s": ended_s, "energy_j": energy_j}},
        )
        for ended_s, epochs, score in results
    ]  # fmt: skip


def test_time_and_energy() -> None:
    limits = SearchLimits(wall_s=60.0, energy_j=10.0)
    assert limits.reached(59.9, 9.9, list, Budget(2)) == ""
    assert "--time 60s" in limits.reached(60.0, 0.0, list, Budget(2))
    trials = told((1, 1, 0.5), (2, 1, None), (3, 2, 0.1))  # of 2 J each
    assert "--energy 10J" in limits.reached(1.0, 4.0, lambda: trials, Budget(2))
    assert limits.reached(1.0, 3.9, lambda: trials, Budget(2)) == ""


@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.floats(0, 1)), max_size=12), st.integers(1, 4)
)
def test_patience_counts_full_trials_since_the_best(
    results: list[tuple[int, float]], patience: int
) -> None:
    trials = told(*((at, epochs, score) for at, (epochs, score) in enumerate(results)))
    full = [score for epochs, score in results if epochs == 2]
    without_a_better = 0
    best = -1.0
    for score in full:
        without_a_better = 0 if score > best else without_a_better + 1
        best = max(best, score)
    reached = SearchLimits(patience=patience).reached(0.0, 0.0, lambda: reversed(trials), Budget(2))
    assert bool(reached) == (without_a_better >= patience)


@given(st.integers(1, 30), st.integers(2, 4), st.integers(1, 100))
def test_a_number_of_trials(levels: int, reduction: int, trials: int) -> None:
    brackets = brackets_of(levels, reduction)
    found = with_trials(brackets, reduction, trials)
    assert sum(bracket[0].trials for bracket in found) == trials
    of_plan = sum(bracket[0].trials for bracket in brackets)
    if trials % of_plan == 0:
        assert found == brackets * (trials // of_plan)
    for bracket in found:
        counts = [rung.trials for rung in bracket]
        assert min(counts) >= 1 and counts == sorted(counts, reverse=True)
        assert bracket[-1].level == levels


@pytest.mark.parametrize(
    ("text", "says"),
    [("30", "as 30m"), ("0s", "above 0"), ("1 week", "s, m, h, d"), ("-1m", "-1m")],
)
def test_amounts_without_unit(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        limits_of(None, text, None, None, print)


def test_amounts() -> None:
    found = limits_of(3, "1.5h", "0.5kWh", 2, print)
    assert (found.wall_s, found.energy_j) == (5400.0, 1.8e6)


def test_time_ends_running_trials_and_more_time_continues(tmp_path: Path) -> None:
    """The first two trials end at once; a later one would wait for ever."""
    (tmp_path / "wait").touch()
    code = "if os.path.exists('wait') and int(given['width']) % 2: import signal; signal.pause()\n"
    of = replace(of_code(code + REPORTS % "0.5"), workdir=str(tmp_path))
    said: list[str] = []
    first = search(tmp_path, of, SPACE, limits=SearchLimits(wall_s=2.0, on_reached=said.append))
    assert said == ["--time 2s is over"] and all(one.result == 0.5 for one in first)
    assert all(one.configuration["training.width"] % 2 == 0 for one in first)
    (tmp_path / "wait").unlink()
    rest = search(tmp_path, of, SPACE)
    # HyperBand's rungs: 2 trials to one epoch, 1 of them to two, and 2 to two.
    assert len(first) + len(rest) == 2 + 1 + 2


def test_energy_ends_a_search(tmp_path: Path) -> None:
    """Counted at each epoch's end, with what earlier processes spent."""
    work = "for epoch in range(int(given['epochs'])):\n    sum(range(2_000_000))\n"
    of = of_code(work + "    trimtab_trial.epoch_end(epoch, accuracy=0.5)\n")
    whole = search(tmp_path / "whole", of, SPACE)
    total_j = sum(one.energy_j for one in whole)
    said: list[str] = []
    limits = SearchLimits(energy_j=total_j / 2, on_reached=said.append)
    part = search(tmp_path / "part", of, SPACE, limits=limits)
    assert len(said) == 1 and 0 < len(part) < len(whole)
    rest = search(tmp_path / "part", of, SPACE)
    assert len(part) + len(rest) >= len(whole)


def test_patience_ends_a_search(tmp_path: Path) -> None:
    said: list[str] = []
    limits = SearchLimits(patience=1, on_reached=said.append)
    of = replace(of_code(REPORTS % "0.5"), workdir=str(tmp_path))
    results = search(tmp_path, of, SPACE, limits=limits)
    assert "--patience 1" in said[0]
    assert [one.budget.epochs for one in results].count(2) == 2


def test_an_option_that_the_program_does_not_take(tmp_path: Path) -> None:
    with pytest.raises(UserError) as failed:
        search(tmp_path, workload(ARGPARSE), SPACE)
    said = str(failed.value)
    assert "no --width;" in said and "did you mean --wdth?" in said and "unrecognized" in said
    assert [path.name for path in (tmp_path / "trials").glob("trial_?")] == ["trial_0"]


def test_a_program_without_epochs(tmp_path: Path) -> None:
    of = workload(ARGPARSE.replace("--epochs", "--steps").replace("wdth", "width"))
    with pytest.raises(UserError, match="takes no --epochs, with which the tuner says"):
        search(tmp_path, of, SPACE)


def test_the_same_failure_thrice(tmp_path: Path) -> None:
    """Whatever numbers it names; another one between them begins the count anew."""
    (tmp_path / "count").write_text("")
    code = """
count = len(open("count").read())
open("count", "a").write("x")
sys.exit("the disk is full" if count == 2 else f"no such file: shard {given['width']}")
"""
    of = replace(of_code(code), workdir=str(tmp_path))
    with pytest.raises(TrimtabError) as failed:
        search(tmp_path, of, tuning(epochs={"least": 1, "most": 8}, training=SPACE.training))
    assert "3 trials in a row failed alike" in str(failed.value)
    assert "\n  no such file: shard" in str(failed.value)
    assert (tmp_path / "count").read_text() == "x" * 6


def test_out_of_memory_in_a_row_ends_no_search_that_has_a_score(tmp_path: Path) -> None:
    code = (
        """
if os.path.exists("one"):
    raise MemoryError(given["width"])
open("one", "w").close()
"""
        + REPORTS % "0.5"
    )
    of = replace(of_code(code), workdir=str(tmp_path))
    space = tuning(epochs={"least": 1, "most": 4}, training=SPACE.training)
    results = search(tmp_path, of, space)
    assert Counter(isinstance(one.result, float) for one in results)[False] >= 3


def test_one_trial_is_seen_before_the_second_starts(tmp_path: Path) -> None:
    code = "open(f'{given[\"width\"]}.began', 'w').close()\n"
    of = replace(of_code(code + "sys.exit(3)"), workdir=str(tmp_path))
    with pytest.raises(TrimtabError, match="3 trials in a row"):
        search(tmp_path, of, SPACE, workers=2)
    assert len(list(tmp_path.glob("*.began"))) == 3
