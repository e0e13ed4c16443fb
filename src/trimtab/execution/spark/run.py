"""Run a trace of jobs on Spark under DiAS' policies, in real time, and measure each job."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pandas as pd

from trimtab.errors import UserError
from trimtab.execution.history import allocations_table, jobs_table
from trimtab.execution.job_queue import QueuedJob
from trimtab.execution.spark.dispatcher import Dispatcher
from trimtab.execution.sprinting.choose import find_sprinter
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.base import Policy
from trimtab.spark.event_log import EventLog, read_event_log
from trimtab.spark.program import SparkProgram
from trimtab.spark.session import CpuClock, Session


@dataclass(frozen=True)
class SparkRun:
    """The result of a trace on Spark.

    `jobs` and `allocations` have the columns of `tables.SCHEDULED` and `tables.ALLOCATIONS`. The
    only node, 0, is all of Spark; level is 1 in a sprint. Joules are null, as they are modelled
    elsewhere. Set-up times are 0, as the session starts before the first job. `dropped_tasks` are
    of a job's last execution; the event log has them for RDDs, not for data frames.

    `attempts` has a row for each execution of a job: job, attempt, group (of the event log),
    finished, start_s and finish_s (since 1970, as in the log), spark_cpu_s (CPU time of all of
    Spark's processes meanwhile) and executor_cpu_s (see `EventLog`). `log` is Spark's event log of
    these jobs. `sprinter` describes how jobs were sped up.
    """

    jobs: pd.DataFrame
    allocations: pd.DataFrame
    attempts: pd.DataFrame
    log: EventLog
    sprinter: str


class SparkEngine:
    """An engine for the dispatcher: a Spark session that one job at a time uses whole."""

    def __init__(
        self,
        session: Session,
        programs: Mapping[str, SparkProgram],
        drop_ratio: Mapping[str, float],
        seed: int = 0,
    ) -> None:
        self._session, self._programs = session, programs
        self._drop_ratio, self._seed = drop_ratio, seed
        self._name = f"trace-{time.monotonic_ns()}"
        self._evicted: set[str] = set()
        self.attempts: list[dict[str, object]] = []

    def run(self, job: QueuedJob, attempt: int) -> bool:
        """Run a job's program; return False if it was evicted meanwhile."""
        context, group = self._session.context, self._group(job, attempt)
        # Interrupted threads would make Spark restart all of its Python workers.
        context.setJobGroup(group, job.job_class, interruptOnCancel=False)
        theta = self._drop_ratio.get(job.job_class, 0.0)
        clock, start_s = CpuClock(self._session.processes), time.time()
        try:
            self._programs[job.job_class](context, theta, self._seed + job.job)
            finished = True
        except Exception:  # its type is another one with data frames
            if group not in self._evicted:
                raise
            finished = False
        finish_s = time.time()
        self.attempts.append(
            {
                "job": job.job,
                "attempt": attempt,
                "group": group,
                "finished": finished,
                "start_s": start_s,
                "finish_s": finish_s,
                "spark_cpu_s": clock.elapsed_s(),
            }
        )
        return finished

    def evict(self, job: QueuedJob, attempt: int) -> None:
        """Cancel an execution's current and future jobs on Spark."""
        group = self._group(job, attempt)
        self._evicted.add(group)
        self._session.context._jsc.sc().cancelJobGroupAndFutureJobs(group)

    def _group(self, job: QueuedJob, attempt: int) -> str:
        """Return the job group of an execution, unique to this trace."""
        return f"{self._name}-{job.job}-{attempt}"


def run_trace(
    session: Session,
    trace: pd.DataFrame,
    programs: Mapping[str, SparkProgram],
    policy: Policy,
    sprinter: Sprinter | None = None,
) -> SparkRun:
    """Run the jobs of `trace` (columns of `tables.TRACE`) on Spark in real time.

    `programs` has the program of each class. The policy's drop ratios apply to every stage that the
    program drops from. In local mode `sprinter` speeds the session up; it defaults to the machine's
    best one if the policy sprints. Raises UserError for a class without a program, and where
    nothing can sprint.
    """
    if missing := set(trace.job_class) - set(programs):
        raise UserError(f"job classes without a program: {sorted(missing)}, not {list(programs)}")
    sprinter = sprinter or find_sprinter(bool(policy.timeout_s))
    queued = [
        QueuedJob(row["job"], row["job_class"], row["priority"], row["arrival_s"])
        for row in trace.to_dict("records")
    ]
    engine = SparkEngine(session, programs, policy.drop_ratio)
    with ExitStack() as stack:
        stack.enter_context(sprinter)
        stack.callback(sprinter.sprint)  # the session continues at full speed
        sprinter.attach(session)
        sprinter.rest()
        allocations = Dispatcher(engine, queued, policy, sprinter).run()
    session.flush()
    attempts = pd.DataFrame(engine.attempts)
    log = read_event_log(session.event_log).of_groups(attempts.group)
    by_group = log.stages.groupby("group")
    attempts["executor_cpu_s"] = by_group.executor_cpu_s.sum().reindex(attempts.group).to_numpy()
    jobs = jobs_table(trace, allocations, sprint_level=1)
    last = attempts[attempts.finished].set_index("job").group
    dropped = by_group.dropped_tasks.sum()
    jobs["dropped_tasks"] = dropped.reindex(last[jobs.job], fill_value=0).to_numpy()
    return SparkRun(jobs, allocations_table(allocations), attempts, log, sprinter.description)
