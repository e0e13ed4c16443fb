"""CPUs that a search lends to the companion of its trials, over programs that run for real."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from test_search import CPUS
from test_search_counts import needs_two, search

from trimtab.tuning.hyperband import Rung
from trimtab.tuning.search.side_task import NoSideTask
from trimtab.tuning.system.system_tuner import FixedSettings

# Trials say on which CPUs they begin, and that their only epoch ends. The second one of `TWO` goes
# on until the third has begun.
ONE = """
number = len([name for name in os.listdir() if name.startswith("began_")])
with open(f"began_{number}", "w") as file:
    file.write(repr(sorted(os.sched_getaffinity(0))))
assert number == 0 or os.path.exists("ended_0"), "the first one and another ran at once"
"""
END = """
open(f"ended_{number}", "w").close()
trimtab_trial.epoch_end(0, accuracy=0.5)
"""
TWO = """
if number == 1:
    until(lambda: os.path.exists("began_2"))
"""


class AtWork(NoSideTask):
    """Works once, when a first trial has begun, until `trials` have; nothing is known before."""

    def __init__(self, trials: int) -> None:
        self.trials, self.begun = trials, 0
        self.cpus: list[Sequence[int]] = []
        self.enough, self.ended = threading.Event(), threading.Event()

    @property
    def cpus_wanted(self) -> int:  # type: ignore[override]
        return int(self.begun > 0 and not self.ended.is_set())

    def started(self, trial: int, complete: Mapping[str, Any]) -> None:
        self.begun += 1
        if self.begun == self.trials:
            self.enough.set()

    def work(self, cpus: Sequence[int]) -> None:
        self.cpus.append(cpus)
        assert self.enough.wait(30), "no trial ran on what is left"
        self.ended.set()

    def is_known(self, trial: int) -> bool:
        return self.ended.is_set()

    def metrics(self, trial: int) -> Mapping[str, float]:
        assert self.ended.wait(30)
        return {"inference_s": 0.25}


def cpus_of(folder: Path, number: int) -> tuple[int, ...]:
    return tuple(json.loads((folder / f"began_{number}").read_text()))


@needs_two
def test_trials_have_what_a_companion_without_work_leaves(tmp_path: Path) -> None:
    companion = AtWork(trials=2)
    judged, _ = search(
        tmp_path, ONE + TWO + END, [Rung(3, 1)], steering=FixedSettings({"cores": 1}),
        cpus=CPUS[:2], companion=companion,
    )  # fmt: skip
    assert [one.metrics["inference_s"] for one in judged] == [0.25] * 3
    (its,) = companion.cpus
    assert len(its) == 1 and cpus_of(tmp_path, 0) == cpus_of(tmp_path, 1) != its
    assert cpus_of(tmp_path, 2) == its  # beside the second one, which waited for that


def test_one_cpu_is_for_trials_and_the_companion_in_turns(tmp_path: Path) -> None:
    class InTurns(AtWork):
        def work(self, cpus: Sequence[int]) -> None:
            names = sorted(path.name for path in tmp_path.glob("[be][en][gd]*_[0-9]"))
            assert names == ["began_0", "ended_0"]
            super().work(cpus)

    companion = InTurns(trials=1)
    judged, _ = search(tmp_path, ONE + END, [Rung(2, 1)], cpus=CPUS[:1], companion=companion)
    assert companion.cpus == [tuple(CPUS[:1])] and len(judged) == 2


def test_what_goes_wrong_in_its_work_ends_the_search(tmp_path: Path) -> None:
    class Broken(AtWork):
        def work(self, cpus: Sequence[int]) -> None:
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        search(tmp_path, ONE + END, [Rung(2, 1)], companion=Broken(1))
