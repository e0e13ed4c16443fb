"""HyperBand against the tables of its paper, and against a plain loop."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import (
    Bracket,
    HyperBand,
    RecordedJob,
    Rung,
    RungJob,
    brackets_of,
    repeated_halving,
    successive_halving,
    work_epochs,
)

Score = dict[tuple[int, int], float | None]  # of (trial, level)


def rungs(*pairs: tuple[int, int]) -> Bracket:
    return tuple(Rung(trials, level) for trials, level in pairs)


def test_brackets_of_algorithm_1() -> None:
    """R = 81 and eta = 3: n = ceil(5 / (s + 1) * 3^s)."""
    assert brackets_of(81, 3) == [
        rungs((81, 1), (27, 3), (9, 9), (3, 27), (1, 81)),
        rungs((34, 3), (11, 9), (3, 27), (1, 81)),
        rungs((15, 9), (5, 27), (1, 81)),
        rungs((8, 27), (2, 81)),
        rungs((5, 81)),
    ]


def test_levels_that_are_no_power_of_the_reduction() -> None:
    assert brackets_of(10, 2)[0] == rungs((8, 1), (4, 2), (2, 5), (1, 10))
    assert brackets_of(1, 2) == [rungs((1, 1))]
    assert successive_halving(10, 2, 4) == [rungs((4, 2), (2, 5), (1, 10))]
    assert successive_halving(1, 4, 9) == [rungs((9, 1))]


@pytest.mark.parametrize(("levels", "reduction"), [(0, 2), (5, 1)])
def test_no_brackets(levels: int, reduction: int) -> None:
    with pytest.raises(ValueError, match="expected at least 1 and 2"):
        brackets_of(levels, reduction)


def test_work_of_a_bracket_by_hand() -> None:
    """4 on 1 epoch, 2 on another one, 1 on two more; from the beginning it would be 12."""
    bracket = [rungs((4, 1), (2, 2), (1, 4))]
    assert work_epochs(bracket, Fidelity(BudgetKind.EPOCHS, 1, 4)) == 4 + 2 + 2
    # 4 x 1 epoch x 1/4, 2 x 1 x 2/4, 1 x 2 x 4/4
    assert work_epochs(bracket, Fidelity(BudgetKind.BOTH, 1, 4, 0.25)) == 1 + 1 + 2
    # 4 x 1/4, 2 x 2/4, 1 x 4/4, each from its beginning
    assert work_epochs(bracket, Fidelity(BudgetKind.DATA, 1, 4, 0.25)) == 1 + 1 + 1


def test_halving_again_and_again_by_hand() -> None:
    """9 on 1 epoch, 3 on two more, 1 on six more: 21 epochs."""
    fidelity, once = Fidelity(BudgetKind.EPOCHS, 1, 9), rungs((9, 1), (3, 3), (1, 9))
    for work, times in ((62.9, 2), (63, 3), (1, 1)):
        assert repeated_halving(fidelity, 3, 9, work) == [once] * times
    with pytest.raises(ValueError, match="halving from 0 trials"):
        repeated_halving(fidelity, 3, 0, 10)


def score_of(trial: int, level: int, seed: int, failing: float) -> float | None:
    generator = random.Random(f"{seed} {trial} {level}")
    return None if generator.random() < failing else generator.random()


def expected_survivors(bracket: Bracket, seed: int, failing: float) -> list[set[int]]:
    """The trials on each rung, by a plain loop."""
    trials, reached = list(range(bracket[0].trials)), []
    for number, rung in enumerate(bracket):
        reached.append(set(trials))
        scores = {trial: score_of(trial, rung.level, seed, failing) for trial in trials}
        good = [trial for trial in trials if scores[trial] is not None]
        good.sort(key=lambda trial: scores[trial] or 0, reverse=True)
        trials = good[: bracket[number + 1].trials] if number + 1 < len(bracket) else []
    return reached


def run(
    scheduler: HyperBand, seed: int, failing: float, workers: int, stop_after: int | None = None
) -> list[RecordedJob]:
    """Run all jobs, of which a random one ends at a time; return them in their order of start."""
    order, running, history = random.Random(seed), list[RungJob](), dict[RungJob, RecordedJob]()
    numbers: dict[int, int] = {}
    while True:
        job = scheduler.next_job() if len(running) < workers else None
        if job is not None:
            trial = job.trial
            if trial is None:
                at = numbers[job.bracket] = numbers.get(job.bracket, -1) + 1
                trial = 1000 * job.bracket + at
            scheduler.start(job, trial)
            started = RungJob(job.bracket, job.rung, trial)
            running.append(started)
            history[started] = RecordedJob(started, ended=False)
        elif running:
            ending = running.pop(order.randrange(len(running)))
            assert ending.trial is not None
            level = scheduler.brackets[ending.bracket][ending.rung].level
            score = score_of(ending.trial % 1000, level, seed + ending.bracket, failing)
            scheduler.report(ending.trial, score)
            history[ending] = RecordedJob(ending, ended=True, score=score)
        else:
            assert scheduler.is_done
            return list(history.values())
        if stop_after is not None and len(history) > stop_after:
            return list(history.values())


def reached(history: list[RecordedJob], bracket: int, rung: int) -> set[int]:
    of_rung = [past.job for past in history if (past.job.bracket, past.job.rung) == (bracket, rung)]
    trials = [(job.trial or 0) % 1000 for job in of_rung]
    assert len(set(trials)) == len(trials), "one was trained twice"
    return set(trials)


SEARCHES = st.tuples(
    st.integers(1, 30), st.integers(2, 4), st.integers(0, 999), st.sampled_from([0, 0.3, 1])
)


@given(SEARCHES, st.integers(1, 7))
def test_synchronous_survivors_are_those_of_a_plain_loop(
    search: tuple[int, int, int, float], workers: int
) -> None:
    levels, reduction, seed, failing = search
    brackets = brackets_of(levels, reduction)
    history = run(HyperBand(brackets, reduction), seed, failing, workers)
    for number, bracket in enumerate(brackets):
        expected = expected_survivors(bracket, seed + number, failing)
        assert [reached(history, number, rung) for rung in range(len(bracket))] == expected


@given(SEARCHES, st.integers(1, 7), st.integers(0, 40))
def test_a_search_that_was_killed_goes_on_to_the_same_end(
    search: tuple[int, int, int, float], workers: int, stop_after: int
) -> None:
    levels, reduction, seed, failing = search
    brackets = brackets_of(levels, reduction)
    whole = run(HyperBand(brackets, reduction), seed, failing, workers=1)
    part = run(HyperBand(brackets, reduction), seed, failing, workers, stop_after)
    resumed = HyperBand(brackets, reduction, past=part)
    again = [past.job for past in part if not past.ended]
    for job in again:
        assert resumed.next_job() == job
        assert job.trial is not None
        resumed.start(job, job.trial)
    for job in again:
        assert job.trial is not None
        level = brackets[job.bracket][job.rung].level
        resumed.report(job.trial, score_of(job.trial % 1000, level, seed + job.bracket, failing))
    done = {past.job for past in part}
    # New trials get the numbers that follow.
    begun = {n: len(reached(part, n, 0)) for n in range(len(brackets))}
    while (job := resumed.next_job()) is not None:
        trial = job.trial
        if trial is None:
            trial = 1000 * job.bracket + begun[job.bracket]
            begun[job.bracket] += 1
        resumed.start(job, trial)
        done.add(RungJob(job.bracket, job.rung, trial))
        level = brackets[job.bracket][job.rung].level
        resumed.report(trial, score_of(trial % 1000, level, seed + job.bracket, failing))
    assert resumed.is_done
    assert done == {past.job for past in whole}


@given(SEARCHES, st.integers(1, 7))
def test_asynchronous_ones_go_on_among_the_best_so_far(
    search: tuple[int, int, int, float], workers: int
) -> None:
    levels, reduction, seed, failing = search
    brackets = brackets_of(levels, reduction)
    history = run(HyperBand(brackets, reduction, synchronous=False), seed, failing, workers)
    for number, bracket in enumerate(brackets):
        assert len(reached(history, number, 0)) == bracket[0].trials
        for rung in range(len(bracket) - 1):
            here, above = reached(history, number, rung), reached(history, number, rung + 1)
            assert above <= here
            scores = {
                trial: score_of(trial, bracket[rung].level, seed + number, failing)
                for trial in here
            }
            good = sorted((s for s in scores.values() if s is not None), reverse=True)
            # At the end the best of a rung have gone on, and with them some that once were.
            best = good[: len(here) // reduction]
            assert {trial for trial, s in scores.items() if s in best} <= above
            assert all(scores[trial] is not None for trial in above)


def test_nobody_waits_with_several_workers() -> None:
    """While one configuration is still trained on the first rung, other brackets begin."""
    scheduler = HyperBand(brackets_of(4, 2), 2)
    for trial in range(4):
        scheduler.start(RungJob(0, 0), trial)
    for trial in range(3):
        scheduler.report(trial, float(trial))
    assert scheduler.next_job() == RungJob(1, 0)
    scheduler.report(3, 9.0)
    assert scheduler.next_job() == RungJob(0, 1, 3)
    asynchronous = HyperBand(brackets_of(4, 2), 2, synchronous=False)
    for trial in range(2):
        asynchronous.start(RungJob(0, 0), trial)
        asynchronous.report(trial, float(trial))
    assert asynchronous.next_job() == RungJob(0, 1, 1)


def test_of_equal_scores_the_earlier_goes_on() -> None:
    scheduler = HyperBand([rungs((2, 1), (1, 2))], 2)
    for trial in (7, 3):
        scheduler.start(RungJob(0, 0), trial)
        scheduler.report(trial, 0.5)
    assert scheduler.next_job() == RungJob(0, 1, 3)


def test_a_past_without_its_number() -> None:
    with pytest.raises(ValueError, match="expected the number"):
        HyperBand(brackets_of(4, 2), 2, past=[RecordedJob(RungJob(0, 0), ended=True)])
