"""A trace on a real Slurm: jobs are submitted when they arrive and report what becomes of them."""

import time
from abc import ABC, abstractmethod
from math import inf
from typing import Self

import pandas as pd

from trimtab.errors import TrimtabError, UserError
from trimtab.execution.history import JobOutcome, jobs_table, stays_table
from trimtab.execution.slurm import jobs as slurm_jobs
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.reports import Report, Reports
from trimtab.execution.slurm.trace import SlurmJob

GRACE_S = 60.0  # of real time: no report for so much longer than expected, and something is wrong


class TraceRun(ABC):
    """The loop; it waits for reports, arrivals and whatever else has a deadline.

    Times are the trace's seconds, of which each takes `scale` seconds. As a context manager it
    cancels what is left at the end.
    """

    def __init__(self, cluster: SlurmCluster, jobs: list[SlurmJob], scale: float) -> None:
        if not 0 < scale < inf:
            raise UserError(f"scale: {scale} is not above 0")
        self.jobs, self.cluster, self.scale = jobs, cluster, scale
        self.submitted: dict[int, SlurmJob] = {}  # by Slurm's number; not ended yet
        self.reports = Reports(cluster.folder / f"run{time.monotonic_ns()}")
        self._arriving = sorted(jobs, key=lambda job: (-job.arrival_s, -job.task.job))
        self._started_at = time.time()
        self._heard_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self.submitted:
            slurm_jobs.cancel(self.cluster, number)
        self.reports.close()

    @abstractmethod
    def act(self) -> None:
        """Do what is to be done now, after arrivals and reports."""

    @abstractmethod
    def submit(self, job: SlurmJob) -> int:
        """Submit a job that has arrived; return Slurm's number."""

    @abstractmethod
    def stopped(self, job: SlurmJob, time_s: float) -> None:
        """Take note that Slurm stops a running job."""

    def next_s(self) -> float:
        """Return when `act` is to be called if nothing else happens."""
        return inf

    def awaited_s(self) -> float:
        """Return after how many seconds some job should report, at the latest; inf: none will."""
        return max((self.service_s(job) for job in self.submitted.values()), default=inf)

    def run(self) -> None:
        """Run until every job has ended."""
        while self._arriving or self.submitted:
            while self._arriving and self._arriving[-1].arrival_s <= self.now_s():
                job = self._arriving.pop()
                job.number = self.submit(job)
                self.submitted[job.number] = job
                self._heard_s = self.now_s()
            self.act()
            self._wait()

    @property
    def all_arrived(self) -> bool:
        """Whether no more jobs will come."""
        return not self._arriving

    def now_s(self) -> float:
        """Return the time since the run's start."""
        return (time.time() - self._started_at) / self.scale

    def hear(self, patience_s: float) -> None:
        """Wait for reports, but not for longer than `patience_s`, and take them."""
        for report in self.reports.wait(patience_s * self.scale):
            self._take(report)
            self._heard_s = self.now_s()

    def speed(self, job: SlurmJob, node_type: int, level: int = -1) -> float:
        """Return how fast a node does a job's work, against the reference node."""
        kind = self.cluster.cluster.node_types[node_type]
        return kind.levels[level].speed / job.job_class.slowdown.get(kind.name, 1.0)

    def service_s(self, job: SlurmJob) -> float:
        """Return the longest that a job may take on any node."""
        return max(
            job.left_s / self.speed(job, number, level)
            for number, kind in enumerate(self.cluster.cluster.node_types)
            for level in range(len(kind.levels))
        )

    def leave(self, job: SlurmJob, time_s: float, end: str, *, keeps_work: bool) -> None:
        """Note that a job leaves its node."""
        assert job.placement is not None
        kind = self.cluster.nodes[job.placement.node].node_type
        speed = self.speed(job, kind, job.placement.level)
        job.leave(time_s, end, speed, keeps_work=keeps_work)

    def outcome(self, trace: pd.DataFrame, *, resumes: bool = False) -> JobOutcome:
        """Return the tables of the run."""
        stays = sorted(
            (stay for job in self.jobs for stay in job.stays), key=lambda stay: stay.end_s
        )
        codes = {job.task.job: job.exit_code for job in self.jobs if job.exit_code is not None}
        return JobOutcome(jobs_table(trace, stays, resumes=resumes), stays_table(stays), codes)

    def _wait(self) -> None:
        arrival_s = self._arriving[-1].arrival_s if self._arriving else inf
        overdue_s = self._heard_s + self.awaited_s() + GRACE_S / self.scale
        deadline_s = min(arrival_s, self.next_s(), overdue_s)
        if deadline_s < inf:
            self.hear(deadline_s - self.now_s())
        if self.now_s() >= overdue_s:
            log = self.cluster.log_end("slurmctld")
            queue = self.cluster.call("squeue").strip()
            raise TrimtabError(f"no job reports any more; squeue says:\n{queue}\nslurmctld{log}")

    def _take(self, report: Report) -> None:
        job = self.submitted[report.job]
        time_s = (report.time_s - self._started_at) / self.scale
        if report.kind == "started":
            job.started_s, job.node = time_s, report.node
            self.started(job)
        elif report.kind == "stopped":
            self.stopped(job, time_s)
        else:
            del self.submitted[report.job]
            job.exit_code = report.exit_code
            end = "finished" if report.exit_code == 0 else "failed"
            self.leave(job, time_s, end, keeps_work=True)

    def started(self, job: SlurmJob) -> None:
        """Take note that a job has started on `job.node`."""
        return None
