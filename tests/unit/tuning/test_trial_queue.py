"""Workers that share a search, in any order of what can happen: every rung once, as one would."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spaces import tuning
from test_search import CPUS, HOST
from trials.trial_programs import workload

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import brackets_of
from trimtab.tuning.plan import Plan
from trimtab.tuning.scoring.score import Failure, Score
from trimtab.tuning.sharing.claims import Claims, FileLocks, check_shared
from trimtab.tuning.sharing.trial_queue import TrialLease, TrialQueue
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study

TUNING = tuning(
    epochs={"least": 1, "most": 4},
    training={"width": {"low": 1, "high": 99, "whole": True, "default": 1}},
)
RUNGS = 4 + 2 + 1 + 3 + 1 + 3


def plan(*, synchronous: bool = True) -> Plan:
    fidelity = Fidelity(BudgetKind.EPOCHS, 1, 4)
    return Plan(
        workload=workload("pass"), tuning=TUNING, brackets=brackets_of(fidelity.levels, 2),
        reduction=2, synchronous=synchronous, fidelity=fidelity,
        score=Score(Objective(name="best")), hardware=HOST, cpus=CPUS,
    )  # fmt: skip


class Worker:
    """One of the processes that share a search, as far as the journal and the claims know."""

    def __init__(self, folder: Path, of: Plan) -> None:
        study = Study(
            folder / "journal", "s", SearchSpace(TUNING), [Kind.TRAINING], "random", seed=1
        )
        self.claims = Claims(FileLocks(folder / "trials"))
        self.work = TrialQueue(of, study, self.claims)
        self.running: list[TrialLease] = []

    def take(self) -> TrialLease | None:
        found = self.work.take()
        self.running += [] if found is None else [found]
        return found

    def finish(self, one: TrialLease) -> tuple[int, int, float]:
        """Judge what it runs by its width; some fail."""
        self.running.remove(one)
        width = one.configuration["training.width"]
        result = Failure("unlucky") if width % 7 == 3 else width / 100 + one.budget.epochs
        self.work.tell(one.trial, one.budget, result)
        assert self.claims.is_taken(one.trial)  # as its program may still end
        self.work.leave(one.trial)
        return one.trial, one.job.rung, width

    def die(self) -> None:
        self.claims.close()  # as the kernel does


def alone(folder: Path, of: Plan) -> list[tuple[int, int, float]]:
    worker, told = Worker(folder, of), []
    while (one := worker.take()) is not None:
        told.append(worker.finish(one))
    assert worker.work.is_done
    return told


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, int, float]]:
    return alone(tmp_path_factory.mktemp("alone"), plan())


Steps = Sequence[tuple[int, str]]
STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["take", "take", "finish", "leave", "die"])),
    max_size=40,
)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, synchronous=st.booleans())
def test_whatever_workers_do_each_rung_is_told_once_as_alone(
    expected: list[tuple[int, int, float]], steps: Steps, synchronous: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        of, folder = plan(synchronous=synchronous), Path(name)
        workers, told = [Worker(folder, of) for _ in range(3)], []
        for number, step in steps:
            worker = workers[number]
            if step == "take":
                worker.take()
            elif step == "finish" and worker.running:
                told.append(worker.finish(worker.running[0]))
            elif step == "leave" and worker.running:
                worker.work.leave(worker.running.pop().trial)
            elif step == "die":
                worker.die()
                workers[number] = Worker(folder, of)
            running = [one.trial for worker in workers for one in worker.running]
            assert len(running) == len(set(running))
        for worker in workers[1:]:
            worker.die()
        survivor = workers[0]
        while survivor.running or survivor.take() is not None:
            assert not survivor.work.is_done
            told.append(survivor.finish(survivor.running[0]))
        assert survivor.work.is_done
        survivor.work.close()
        assert len(told) == len({(trial, rung) for trial, rung, _ in told})
        if synchronous:
            assert sorted(told) == sorted(expected)
        late = Worker(folder, of)
        assert late.take() is None and late.work.is_done


def test_what_another_runs_is_waited_for_and_taken_over(tmp_path: Path) -> None:
    first, second = Worker(tmp_path, plan()), Worker(tmp_path, plan())
    had = []
    while (one := first.take()) is not None:
        had.append((one.trial, one.job.rung))
    # Of three brackets the first rungs; the next ones depend on them.
    assert len(had) == 4 + 3 + 3 and first.work.waiting == 0
    assert second.take() is None and not second.work.is_done
    first.die()
    again = [second.take() for _ in had]
    assert [(one.trial, one.job.rung) for one in again if one is not None] == had
    assert all(one is not None and one.was_begun and one.continues for one in again)
    assert first.work.take() is None  # who came back finds that


def test_a_program_that_still_ends_keeps_no_other_trial_from_going_on(tmp_path: Path) -> None:
    first, second = Worker(tmp_path, plan()), Worker(tmp_path, plan())
    rung = [first.take() for _ in range(4)]
    while second.take() is not None:
        pass  # the other brackets' first rungs
    widths = {one.trial: one.configuration["training.width"] for one in rung if one is not None}
    for one in rung:
        assert one is not None
        first.work.tell(one.trial, one.budget, widths[one.trial] / 100)
    best, next_best = sorted(widths, key=lambda trial: -widths[trial])[:2]
    first.work.leave(next_best)  # the best one's program is still ending
    for worker in (first, second):
        found = worker.take()
        assert found is None if worker is second else found and found.trial == next_best
    assert not second.work.is_done
    first.work.leave(best)
    found = second.take()
    assert found is not None and found.trial == best


def test_a_trial_is_claimed_by_one(tmp_path: Path) -> None:
    one, other = Claims(FileLocks(tmp_path / "made")), Claims(FileLocks(tmp_path / "made"))
    assert not one.is_taken(3) and one.take(3) and not one.take(3)
    assert one.is_taken(3) and other.is_taken(3) and not other.take(3)
    assert other.take(4)
    one.give_back(3)
    one.give_back(3)
    assert other.take(3) and one.is_taken(4)
    other.close()
    assert one.take(3) and one.take(4)


def test_the_lock_of_the_journal_is_one_file_for_good(tmp_path: Path) -> None:
    """What another host remembers of a folder may be seconds old: it would lock a removed one."""
    Worker(tmp_path, plan())
    was = (tmp_path / "journal.lock").stat().st_ino
    assert Worker(tmp_path, plan()).take() is not None
    assert (tmp_path / "journal.lock").stat().st_ino == was


MOUNTS = """\
22 1 0:20 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:21 / /home rw - nfs4 server:/home rw,vers=4.2,local_lock=none
24 22 0:22 / /home/two\\040words rw - nfs server:/old rw,vers=3,nolock,local_lock=all
25 22 0:23 / /scratch rw - lustre mgs:/scratch rw,localflock
26 22 0:24 / /home/two\\040words/inner rw - ceph mon:/ rw
"""


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("/home/two words/results", r"nfs \(server:/old on /home/two words\).*nolock"),
        ("/scratch/x", "lustre.*localflock"),
        ("/home/results", None),
        ("/home/two words/inner/x", None),
        ("/scratching", None),
        ("/", None),
    ],
)
def test_locks_that_other_machines_do_not_see(
    tmp_path: Path, folder: str, said: str | None
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    if said is None:
        check_shared(Path(folder), mounts)
    else:
        with pytest.raises(UserError, match=said):
            check_shared(Path(folder), mounts)


def test_this_machine_is_no_hindrance(tmp_path: Path) -> None:
    check_shared(tmp_path)


def test_trials_of_several_objectives_go_on_by_their_front(tmp_path: Path) -> None:
    """By the first alone, trials 1 and 2 would."""
    worker = Worker(tmp_path, plan())
    for score, other in [(0.1, -1.0), (0.9, -9.0), (0.8, -9.5), (0.2, -5.0)]:
        one = worker.take()
        assert one is not None and one.job.rung == 0
        worker.work.tell(one.trial, one.budget, score, {"others": [other]})
        worker.work.leave(one.trial)
    promoted = [one for _ in range(2) if (one := worker.take()) is not None]
    assert [(one.trial, one.job.rung) for one in promoted] == [(1, 1), (0, 1)]
