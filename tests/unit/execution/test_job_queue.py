"""The buffers of waiting jobs, against a sorted list of them."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from trimtab.execution.job_queue import Buffers, QueuedJob

JOBS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=12).map(
    lambda rows: [QueuedJob(job, "", rank, float(at_s)) for job, (at_s, rank) in enumerate(rows)]
)


@given(JOBS, st.lists(st.booleans(), min_size=40, max_size=40))
def test_the_highest_priority_is_next_and_within_it_the_first_to_come(
    jobs: list[QueuedJob], evicts: list[bool]
) -> None:
    buffers, now_s = Buffers(reversed(jobs)), 0.0
    waiting: list[QueuedJob] = []
    for evicted in evicts:
        now_s += 0.5
        admitted = buffers.admit(now_s)
        assert all(now_s - 0.5 < job.arrival_s <= now_s or now_s == 0.5 for job in admitted)
        waiting += admitted
        waiting.sort(key=lambda job: (-job.priority, job.arrival_s, job.job))
        assert buffers.highest == (waiting[0].priority if waiting else None)
        if waiting:
            taken = buffers.take(waiting[0].priority)
            assert taken == waiting[0]
            if evicted:
                buffers.put_back(taken)
            else:
                waiting.pop(0)
        assert bool(buffers) == bool(waiting or buffers.next_arrival_s < inf)
    assert buffers.next_arrival_s == inf
