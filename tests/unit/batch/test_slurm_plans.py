"""The steps from textbook backfilling to Slurm's, on queues done by hand and on any."""

from hypothesis import given
from hypothesis import strategies as st
from plain_batch import FirstComeFirstServed, Job, Queue
from slurm_backfill import cause_of
from slurm_log import read_slurm_log
from slurm_plans import Anew, Arrival, AsSlurm, Cycle, OnNodes, Renewed, best_nodes, replay

SECOND = 1_000_000_000
NODES = 4
ANY = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 5), st.integers(1, NODES)),
    min_size=1,
    max_size=12,
)
LOG = """\
[2026-01-01T00:00:00.000] update_part: setting state_up to 1 for partition main
[2026-01-01T00:00:01.000] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=5 usec=1
[2026-01-01T00:00:01.000] debug:  sched: Running job scheduler for full queue.
[2026-01-01T00:00:02.000] update_part: setting state_up to 3 for partition main
not a line of slurmctld
[2026-01-01T00:00:03.000] sched/backfill: _attempt_backfill: beginning
[2026-01-01T00:00:03.000] sched/backfill: _start_job: Started JobId=1 in main on core-1
[2026-01-01T00:00:05.000] _job_complete: JobId=1 done
[2026-01-01T00:00:05.250] TRACE_JOBS: cleanup_completing: JobId=1
"""


def started(queue: Queue, *numbers: int, now_s: float = 0.0) -> list[int]:
    for number in numbers:
        queue.submit(number, now_s)
    return queue.serve(now_s)


def wait(limit_s: int, nodes: int) -> Job:
    return Job(0.0, 1.0, limit_s, nodes)


def test_the_log_after_the_release() -> None:
    log = read_slurm_log(LOG.splitlines())
    assert [cycle.backfills for cycle in log.cycles] == [True]
    assert log.started[1] == log.cycles[0].at
    assert (log.ended[1] - log.started[1]) // 1000 == 2 * SECOND // 1000
    assert (log.ready[1] - log.ended[1]) // 1000 == SECOND // 4 // 1000


def test_nodes_are_the_smallest_run_that_suffices() -> None:
    assert best_nodes({0, 1, 2, 4, 5}, 2) == {4, 5}
    assert best_nodes({0, 1, 2, 4, 6}, 4) == {0, 1, 2, 4}
    assert best_nodes({0, 1, 2}, 1) == {0}


def test_a_job_that_ends_as_a_plan_begins_is_in_its_way() -> None:
    jobs = [wait(60, 1), wait(60, 2), wait(60, 1)]
    assert started(OnNodes(jobs, 2), 0, 1, 2) == [0, 2]
    assert started(AsSlurm(jobs, 2), 0, 1, 2) == [0]


def test_ends_in_groups_delay_a_plan() -> None:
    """The second job is planned at the later of two near ends, so that the third fits before."""
    jobs = [wait(60, 1), wait(85, 1), wait(60, 2), wait(70, 1)]
    assert started(AsSlurm(jobs, 3, groups=False), 0, 1, 2, 3) == [0, 1]
    assert started(AsSlurm(jobs, 3), 0, 1, 2, 3) == [0, 1, 3]


def test_only_planned_jobs_are_protected() -> None:
    jobs = [wait(60, 1), wait(60, 2), wait(60, 2), wait(30, 1)]
    assert started(AsSlurm(jobs, 2, 1), 0, 1, 2, 3) == [0, 3]


def test_a_completing_node_waits_a_second() -> None:
    jobs = [wait(60, 1), wait(60, 1)]
    queue = AsSlurm(jobs, 1)
    assert started(queue, 0, 1) == [0]
    queue.ended([0], 5.0)
    assert queue.serve(5.0) == []
    queue.completing.clear()
    assert queue.serve(6.0) == [1]


@given(ANY)
def test_all_steps_keep_to_the_nodes(drawn: list[tuple[int, int, int, int]]) -> None:
    arrivals = [
        Arrival(at * SECOND + number, ran * SECOND, SECOND // 2, 60 * minutes, nodes)
        for number, (at, ran, minutes, nodes) in enumerate(drawn)
    ]
    jobs = [wait(each.limit_s, each.nodes) for each in arrivals]
    cycles = [Cycle(SECOND, 1, True), Cycle(3 * SECOND, 3, False)]
    for queue in (Renewed, Anew, OnNodes, AsSlurm, FirstComeFirstServed):
        starts = replay(arrivals, cycles, queue(jobs, NODES))
        for at in starts:
            held = sum(
                each.nodes
                for each, start in zip(arrivals, starts, strict=True)
                if start <= at <= start + each.ran
            )
            assert 0 < held <= NODES
        assert all(start > each.at for start, each in zip(starts, arrivals, strict=True))


def test_the_cause_is_the_last_step_that_moves_a_start() -> None:
    names = ["simulator", "cycles", "search"]
    assert cause_of([1, 2, 2], names, 2) == "cycles"
    assert cause_of([2, 2, 2], names, 2) == "equal"
    assert cause_of([1, 2, 3], names, 2) == "unexplained"
