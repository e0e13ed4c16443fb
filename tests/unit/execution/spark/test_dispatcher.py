import threading
from collections.abc import Sequence
from itertools import pairwise

import pytest

from trimtab.execution.history import Allocation
from trimtab.execution.job_queue import QueuedJob
from trimtab.execution.spark.dispatcher import Dispatcher
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.dias import Dias
from trimtab.policies.priority import Priority


class Timed:
    """An engine whose jobs take a given time, unless they are evicted."""

    def __init__(self, work_s: dict[int, float]) -> None:
        self.work_s, self.begun = work_s, list[tuple[int, int]]()
        self._evicted: dict[tuple[int, int], threading.Event] = {}

    def _event(self, job: QueuedJob, attempt: int) -> threading.Event:
        return self._evicted.setdefault((job.job, attempt), threading.Event())

    def run(self, job: QueuedJob, attempt: int) -> bool:
        self.begun.append((job.job, attempt))
        return not self._event(job, attempt).wait(self.work_s[job.job])

    def evict(self, job: QueuedJob, attempt: int) -> None:
        self._event(job, attempt).set()


class Switch(Sprinter):
    description, normal_milli, sprint_milli = "a switch", 1000, 4000

    def __init__(self) -> None:
        self.turned: list[bool] = []

    def sprint(self) -> None:
        self.turned.append(True)

    def rest(self) -> None:
        self.turned.append(False)


def arrivals(*each: tuple[float, int]) -> list[QueuedJob]:
    return [QueuedJob(job, f"p{priority}", priority, at) for job, (at, priority) in enumerate(each)]


def check(allocations: Sequence[Allocation], jobs: Sequence[QueuedJob]) -> None:
    """One job at a time, none before it arrives, each finished once, and last."""
    for before, after in pairwise(allocations):
        assert before.end_s <= after.start_s
    arrival_s = {job.job: job.arrival_s for job in jobs}
    assert all(
        arrival_s[allocation.job] <= allocation.start_s <= allocation.end_s
        for allocation in allocations
    )
    assert sorted(
        allocation.job for allocation in allocations if allocation.end == "finished"
    ) == sorted(arrival_s)


def test_the_highest_buffer_first_and_in_order_within_it() -> None:
    jobs = arrivals((0.0, 0), (0.1, 0), (0.2, 0), (0.2, 1), (0.2, 2), (0.2, 1))
    engine = Timed({0: 0.5, **dict.fromkeys(range(1, 6), 0.01)})
    allocations = Dispatcher(engine, jobs, Priority()).run()
    check(allocations, jobs)
    assert [allocation.job for allocation in allocations] == [0, 4, 3, 5, 1, 2]
    assert {allocation.end for allocation in allocations} == {"finished"}


def test_an_evicted_job_starts_again_at_the_head_of_its_buffer() -> None:
    jobs = arrivals((0.0, 0), (0.05, 0), (0.2, 1), (0.25, 2), (0.3, 1))
    engine = Timed({0: 0.4, 1: 0.01, 2: 0.4, 3: 0.01, 4: 0.01})
    allocations = Dispatcher(engine, jobs, Priority("repeat")).run()
    check(allocations, jobs)
    assert engine.begun == [(0, 0), (2, 0), (3, 0), (2, 1), (4, 0), (0, 1), (1, 0)]
    ends = [
        (allocation.job, allocation.end)
        for allocation in allocations
        if allocation.end == "evicted"
    ]
    assert ends == [(0, "evicted"), (2, "evicted")]
    took_s = {
        allocation.job: allocation.duration_s
        for allocation in allocations
        if allocation.end == "finished"
    }
    assert took_s[0] >= 0.4 and took_s[2] >= 0.4  # as long as if it had never run before


def test_a_job_of_equal_priority_is_not_evicted() -> None:
    jobs = arrivals((0.0, 1), (0.1, 1))
    engine = Timed({0: 0.3, 1: 0.01})
    allocations = Dispatcher(engine, jobs, Priority("repeat")).run()
    assert [(allocation.job, allocation.end) for allocation in allocations] == [
        (0, "finished"),
        (1, "finished"),
    ]


def test_a_job_sprints_after_its_timeout_until_the_budget_is_used_up() -> None:
    jobs = arrivals((0.0, 0), (0.1, 1))
    engine, switch = Timed({0: 0.3, 1: 0.9}), Switch()
    policy = Dias(timeout_s={"p1": 0.2}, budget_s=0.3)
    allocations = Dispatcher(engine, jobs, policy, switch).run()
    assert [(allocation.job, allocation.level, allocation.end) for allocation in allocations] == [
        (0, 0, "finished"), (1, 0, "level"), (1, 1, "level"), (1, 0, "finished"),
    ]  # fmt: skip
    assert switch.turned == [True, False]
    assert [allocation.cpu_milli for allocation in allocations] == [1000, 1000, 4000, 1000]
    assert allocations[1].duration_s >= 0.2 and allocations[2].duration_s >= 0.3


def test_a_job_that_ends_in_its_sprint_slows_the_engine_down() -> None:
    engine, switch = Timed({0: 0.3}), Switch()
    policy = Dias(timeout_s={"p0": 0.05})
    allocations = Dispatcher(engine, arrivals((0.0, 0)), policy, switch).run()
    assert [(allocation.level, allocation.end) for allocation in allocations] == [
        (0, "level"),
        (1, "finished"),
    ]
    assert switch.turned == [True, False]


def test_what_a_job_raises_is_raised() -> None:
    class Broken(Timed):
        def run(self, job: QueuedJob, attempt: int) -> bool:
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        Dispatcher(Broken({}), arrivals((0.0, 0)), Priority()).run()


def test_no_jobs() -> None:
    assert Dispatcher(Timed({}), [], Priority()).run() == []
