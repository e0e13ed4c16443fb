import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from trimtab.errors import UserError
from trimtab.execution.spark.run import run_trace
from trimtab.execution.sprinting.core_sprinting import AffinitySprinter, QuotaSprinter
from trimtab.policies.dias import Dias
from trimtab.policies.priority import Priority
from trimtab.processes.control_groups import group_of, make_group
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import ALLOCATIONS, SCHEDULED
from trimtab.spark.dropping import drop
from trimtab.spark.program import SparkProgram
from trimtab.spark.session import Session


class Sum:
    """Sums the numbers up to 100 `tasks`; with two slots it takes `task_s` a pair of tasks."""

    def __init__(self, tasks: int, task_s: float = 0.0) -> None:
        self.tasks, self.task_s = tasks, task_s

    def __call__(self, context: Any, theta: float, seed: int) -> int:
        task_s = self.task_s

        def work(numbers: Iterable[int]) -> Iterator[int]:
            time.sleep(task_s)
            yield sum(numbers)

        numbers = context.parallelize(range(100 * self.tasks), self.tasks)
        return int(drop(numbers, theta, seed).mapPartitions(work).sum())


class Relay:
    """Leaves the file `flag`, or `waits` until it is there."""

    def __init__(self, flag: Path, waits: bool) -> None:
        self.flag, self.waits = flag, waits

    def __call__(self, context: Any, theta: float, seed: int) -> object:
        flag, waits = self.flag, self.waits

        def work(number: int) -> int:
            if not waits:
                flag.touch()
            while not flag.exists():
                time.sleep(0.01)
            return number

        return context.parallelize(range(2), 2).map(work).count()


class Cores:
    """Runs until it may use more than one core."""

    def __call__(self, context: Any, theta: float, seed: int) -> object:
        def work(number: int) -> int:
            while len(os.sched_getaffinity(0)) < 2:
                time.sleep(0.01)
            return number

        return context.parallelize(range(2), 2).map(work).count()


class Fails:
    """Divides by zero."""

    def __call__(self, context: Any, theta: float, seed: int) -> object:
        return context.parallelize([0]).map(lambda number: 1 / number).count()


def trace_of(*jobs: tuple[float, str, int]) -> pd.DataFrame:
    table = pd.DataFrame(jobs, columns=["arrival_s", "job_class", "priority"])
    return table.assign(job=range(len(jobs)))


def test_priorities_are_kept_and_tasks_dropped(spark: Session, tmp_path: Path) -> None:
    # The first job lasts until the last has come, and all but it wait meanwhile.
    trace = trace_of((0.0, "wait", 0), (0.2, "low", 0), (0.3, "high", 1), (0.4, "low", 0))
    programs: dict[str, SparkProgram] = {"wait": Sum(4, 0.4), "low": Sum(10), "high": Sum(10)}
    ran = run_trace(spark, trace, programs, Dias(drop_ratio={"wait": 0.25, "low": 0.25}))
    assert ran.jobs.job.tolist() == [0, 2, 1, 3]
    assert ran.jobs.dropped_tasks.tolist() == [1, 0, 2, 2]
    assert ran.jobs.evictions.sum() == 0 and ran.jobs.wasted_s.sum() == 0
    launched = ran.log.tasks.groupby("group").size()[ran.attempts.group].tolist()
    assert launched == [3, 10, 8, 8]
    assert (ran.attempts.spark_cpu_s > ran.attempts.executor_cpu_s).all()
    assert (ran.attempts.executor_cpu_s > 0).all()
    write_table(tmp_path / "jobs.parquet", SCHEDULED, ran.jobs)
    write_table(tmp_path / "allocations.parquet", ALLOCATIONS, ran.allocations)


def test_an_evicted_job_repeats_and_its_time_is_wasted(spark: Session, tmp_path: Path) -> None:
    # The low job cannot end before the high one has run: it has to be evicted for that.
    flag = tmp_path / "the high job was here"
    programs: dict[str, SparkProgram] = {
        "low": Relay(flag, waits=True),
        "high": Relay(flag, waits=False),
    }
    trace = trace_of((0.0, "low", 0), (0.3, "high", 1))
    ran = run_trace(spark, trace, programs, Priority("repeat"))
    assert ran.jobs.job.tolist() == [1, 0]
    high, low = ran.jobs.iloc[0], ran.jobs.iloc[1]
    assert (high.evictions, low.evictions) == (0, 1)
    assert high.wasted_s == 0 and low.wasted_s >= 0.3
    assert ran.allocations.end.tolist() == ["evicted", "finished", "finished"]
    assert low.wasted_s == pytest.approx(ran.allocations.end_s[0] - ran.allocations.start_s[0])
    assert low.execution_s == pytest.approx(ran.allocations.end_s[2] - ran.allocations.start_s[2])
    assert low.response_s >= low.wasted_s + high.execution_s + low.execution_s
    assert ran.attempts[["job", "attempt", "finished"]].to_numpy().tolist() == [
        [0, 0, False], [1, 0, True], [0, 1, True],
    ]  # fmt: skip
    failed = set(ran.log.tasks.group[~ran.log.tasks.succeeded])
    # None, where Spark's first workers had not started when the job was evicted.
    assert failed <= {ran.attempts.group[0]}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core only")
def test_a_job_sprints_on_more_cores(spark: Session) -> None:
    trace = trace_of((0.0, "high", 1))
    programs: dict[str, SparkProgram] = {"high": Cores()}
    policy = Dias(timeout_s={"high": 0.2})
    ran = run_trace(spark, trace, programs, policy, AffinitySprinter())
    assert ran.allocations.level.tolist() == [0, 1]
    assert ran.jobs.sprint_s[0] > 0 and "affinity" in ran.sprinter
    every = os.sched_getaffinity(0)
    tasks = [Path(f"/proc/{process.pid}/task") for process in spark.processes()]
    threads = [int(path.name) for folder in tasks for path in folder.iterdir()]
    assert threads and all(os.sched_getaffinity(thread) == every for thread in threads)


class Groups:
    """Waits in two tasks until the quota of its control group is lifted; returns the groups."""

    def __init__(self, limit: Path) -> None:
        self.limit = limit
        self.seen: set[str] = set()

    def __call__(self, context: Any, theta: float, seed: int) -> object:
        limit = self.limit

        def work(_: int) -> str:
            while limit.read_text().split()[0] not in ("max", "-1"):
                time.sleep(0.01)
            return Path("/proc/self/cgroup").read_text()

        self.seen = set(context.parallelize(range(2), 2).map(work).collect())
        return self.seen


def test_a_job_sprints_on_a_larger_quota(spark: Session) -> None:
    """Spark's processes, and the workers that they start, are in the group, and leave it."""
    try:
        sprinter = QuotaSprinter(make_group("cpu"))
    except UserError as error:
        pytest.skip(str(error))
    before = {process.pid: group_of(process.pid, sprinter._group) for process in spark.processes()}
    program = Groups(sprinter._file)
    policy = Dias(timeout_s={"high": 0.2})
    ran = run_trace(spark, trace_of((0.0, "high", 1)), {"high": program}, policy, sprinter)
    assert ran.allocations.level.tolist() == [0, 1] and "quota" in ran.sprinter
    assert all(f"/{sprinter._group.name}\n" in groups for groups in program.seen)
    assert not sprinter._group.exists()
    after = {process.pid for process in spark.processes()}
    assert all(group_of(pid, sprinter._group) == before[pid] for pid in after & set(before))
    assert spark.context.parallelize(range(4), 2).count() == 4


def test_a_job_that_fails_is_no_evicted_job(spark: Session) -> None:
    # Of what type depends on whether the session has had data frames.
    with pytest.raises(Exception, match="ZeroDivisionError"):
        run_trace(spark, trace_of((0.0, "low", 0)), {"low": Fails()}, Priority())


def test_a_class_without_a_program(spark: Session) -> None:
    with pytest.raises(UserError, match=r"without a program: \['low'\]"):
        run_trace(spark, trace_of((0.0, "low", 0)), {"other": Sum(2)}, Priority())
