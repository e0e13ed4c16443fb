"""What `trimtab tune` tells of trials as they end."""

from dataclasses import replace

from trimtab.cli.tuning.trial_lines import TrialLines
from trimtab.config.groups.objective import Goal, Objective, OtherScore
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.hyperband import RungJob
from trimtab.tuning.plan import RungResult

ACCURACY, TIME = Objective("accuracy"), Objective("time", goal=Goal.MINIMISE)


def ended(trial: int, epochs: int, score: float) -> RungResult:
    return RungResult(
        trial, RungJob(0, 0), Budget(epochs, 1.0), {}, score, {}, epochs, 1.5, 0.0, "modelled",
        2.0, 1.0, 3.0, epochs, 0.5, 0.0, 2.0, {}, {},
    )  # fmt: skip


def test_the_best_is_that_of_the_most_training() -> None:
    told = TrialLines([ACCURACY], 3)
    assert told.line(1, ended(0, 1, 0.9)) == (
        "[1/3] trial 0, 1 epoch: 0.9 in 1.5 s, 0 J; best so far 0.9 (trial 0, 1 epoch)"
    )
    assert str(told.line(1, ended(1, 3, 0.7))).endswith("best so far 0.7 (trial 1, 3 epochs)")
    assert told.line(1, ended(1, 3, 0.7)) is None


def test_two_folds_are_judged_apart() -> None:
    told = TrialLines([ACCURACY, TIME], 4)
    told.line(1, ended(0, 9, 0.9))
    # The same trial on the same rung of the second fold is another; a time is a score below 0.
    line = told.line(2, ended(0, 3, -4.0))
    assert line == "[2/4] trial 0, 3 epochs: 4 in 1.5 s, 0 J; best so far 4 (trial 0, 3 epochs)"
    assert str(told.line(2, ended(1, 3, -2.0))).endswith("best so far 2 (trial 1, 3 epochs)")


def test_several_objectives_have_a_front() -> None:
    both = Objective("both", others=[OtherScore("training_s", Goal.MINIMISE)])
    told = TrialLines([both], 3)
    told.line(1, replace(ended(0, 3, 0.9), others=(-5.0,)))
    line = str(told.line(1, replace(ended(1, 3, 0.8), others=(-4.0,))))
    assert "trial 1, 3 epochs: accuracy 0.8, training_s 4 in 1.5 s" in line
    assert line.endswith("2 on the Pareto front (3 epochs)")
    line = str(told.line(1, replace(ended(2, 3, 0.7), others=(-6.0,))))
    assert line.endswith("2 on the Pareto front (3 epochs)")
