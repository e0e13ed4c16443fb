"""A policy of ours on a real Slurm: it decides placements, moves and evictions; Slurm runs them.

Every job is submitted, held, when it arrives. The policy's decisions become `scontrol` commands: a
placement is a required node and a release; an eviction or a move is a held requeue, then a new
placement. Slurm starts a job up to about a second after its placement.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Self

import pandas as pd

from trimtab.clusters.cluster import JobClass
from trimtab.errors import TrimtabError, UserError
from trimtab.execution.history import Allocation, JobOutcome, allocations_table, jobs_table
from trimtab.execution.slurm import jobs as slurm_jobs
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.configuration import constraint_of
from trimtab.execution.slurm.jobs import SlurmJob, jobs_of
from trimtab.execution.slurm.reports import JobReport, Reports
from trimtab.policies.base import NodeState, Placement, Policy

GRACE_S = 60.0  # of real time: the longest delay of a report


def run_policy(
    cluster: SlurmCluster,
    trace: pd.DataFrame,
    job_classes: Sequence[JobClass],
    policy: Policy,
    *,
    scale: float = 1.0,
) -> JobOutcome:
    """Run `trace` under `policy` and return the result, in the trace's seconds.

    A second of the trace takes `scale` seconds, so Slurm's own delays count 1 / scale times.
    `trace` and `job_classes` are as in `jobs_of`. A moved job keeps its work, an evicted one only
    if the policy `resumes`. Its command is started again, with its remaining seconds at that node
    and frequency level in TRIMTAB_SERVICE_S.

    Changes of level alone, sprinting, image pulls and cold starts are not supported; jobs with
    dropped tasks have a shorter `work_s`. No energy is measured: the nodes are virtual.

    Raises UserError for jobs that cannot run. Raises TrimtabError when the policy leaves jobs
    waiting for ever or chooses a full node, or when a job does not report in time.
    """
    jobs = jobs_of(trace, cluster, job_classes)
    with _PolicyRun(cluster, jobs, policy, scale) as run:
        run.run()
    allocations = sorted(run.allocations, key=lambda allocation: allocation.end_s)
    codes = {job.task.job: job.exit_code for job in jobs if job.exit_code is not None}
    return JobOutcome(
        jobs_table(trace, allocations, resumes=policy.resumes),
        allocations_table(allocations),
        codes,
    )


class _PolicyRun:
    """The loop; it waits for reports, arrivals and the policy's tick.

    Times are seconds of the trace, each `scale` real seconds. As a context manager, it cancels the
    remaining jobs at the end.
    """

    def __init__(
        self, cluster: SlurmCluster, jobs: list[SlurmJob], policy: Policy, scale: float
    ) -> None:
        if not 0 < scale < inf:
            raise UserError(f"scale: {scale} is not above 0")
        self._cluster, self._policy, self._scale = cluster, policy, scale
        self._submitted: dict[int, SlurmJob] = {}  # by Slurm's number; not ended yet
        self._reports = Reports(cluster.folder / f"run{time.monotonic_ns()}")
        self._arriving = sorted(jobs, key=lambda job: (-job.arrival_s, -job.task.job))
        self._started_at = time.time()
        self._heard_s = 0.0
        self._tick_s = policy.tick_s
        self.allocations: list[Allocation] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._submitted:
            slurm_jobs.cancel(self._cluster, number)
        self._reports.close()

    def run(self) -> None:
        """Run until every job has ended."""
        while self._arriving or self._submitted:
            while self._arriving and self._arriving[-1].arrival_s <= self._now_s():
                self._submit(self._arriving.pop())
            self._act()
            self._wait()

    def _now_s(self) -> float:
        return (time.time() - self._started_at) / self._scale

    def _submit(self, job: SlurmJob) -> None:
        script = self._reports.script(job.name, job.command)
        job.number = slurm_jobs.submit(
            self._cluster,
            script,
            cores=job.task.cpu_milli // 1000,
            memory_bytes=job.task.memory_bytes,
            constraint=constraint_of(job.job_class, self._cluster.cluster),
        )
        self._submitted[job.number] = job
        self._heard_s = self._now_s()

    def _act(self) -> None:
        self._place_all()
        if self._tick_s <= self._now_s():
            self._reconsider_all()
            self._tick_s = self._now_s() + self._policy.tick_s
        if self._waiting() and not self._placed() and not self._arriving:
            left = ", ".join(str(job.task.job) for job in self._waiting())
            raise TrimtabError(f"nothing runs, and the policy gives no node to the jobs {left}")

    def _wait(self) -> None:
        placed = self._placed()
        arrival_s = self._arriving[-1].arrival_s if self._arriving else inf
        awaited_s = max((self._service_s(job) for job in placed), default=inf)
        overdue_s = self._heard_s + awaited_s + GRACE_S / self._scale
        deadline_s = min(arrival_s, self._tick_s if placed else inf, overdue_s)
        if deadline_s < inf:
            self._hear(deadline_s - self._now_s())
        if self._now_s() >= overdue_s:
            log = self._cluster.log_end("slurmctld")
            queue = self._cluster.call("squeue").strip()
            raise TrimtabError(f"no job reports any more; squeue says:\n{queue}\nslurmctld{log}")

    def _hear(self, patience_s: float) -> None:
        """Wait up to `patience_s` for reports, and handle them."""
        for report in self._reports.wait(patience_s * self._scale):
            self._take(report)
            self._heard_s = self._now_s()

    def _take(self, report: JobReport) -> None:
        job = self._submitted[report.job]
        time_s = (report.time_s - self._started_at) / self._scale
        if report.kind == "started":
            job.started_s = time_s
        elif report.kind == "stopped":
            job.stopped_s = time_s
        else:
            del self._submitted[report.job]
            job.exit_code = report.exit_code
            end = "finished" if report.exit_code == 0 else "failed"
            self._leave(job, time_s, end, keeps_work=True)

    def _speed(self, job: SlurmJob, node_type: int, level: int) -> float:
        """Return a node's speed for a job, relative to the reference node."""
        kind, job_class = self._cluster.cluster.node_types[node_type], job.job_class
        slowdown = job_class.slowdown.get(kind.name, 1.0) * job_class.protected(kind.name)
        return kind.levels[level].speed / slowdown

    def _service_s(self, job: SlurmJob) -> float:
        """Return a job's longest service time on any node it can run on."""
        return max(
            job.left_s / self._speed(job, number, level)
            for number, kind in enumerate(self._cluster.cluster.node_types)
            for level in range(len(kind.levels))
            if job.job_class.runs_on(kind.name)
        )

    def _leave(self, job: SlurmJob, end_s: float, end: str, *, keeps_work: bool) -> None:
        """Record that a job leaves its node; with `keeps_work`, its work there counts."""
        ran, start_s = job.running, job.running.start_s
        allocation = (job.task.job, ran.node, ran.level, job.task.cpu_milli)
        self.allocations.append(Allocation(*allocation, start_s, start_s, end_s, end))
        speed = self._speed(job, self._cluster.nodes[ran.node].node_type, ran.level)
        left_s = max(0.0, job.left_s - (end_s - start_s) * speed)
        job.left_s = left_s if keeps_work else job.work_s
        job.placement = job.started_s = None

    def _waiting(self) -> list[SlurmJob]:
        return [job for job in self._submitted.values() if job.placement is None]

    def _placed(self) -> list[SlurmJob]:
        return [job for job in self._submitted.values() if job.placement is not None]

    def _started(self) -> list[SlurmJob]:
        """Return the running jobs, in the order of their starts."""
        started = (job for job in self._placed() if job.started_s is not None)
        return sorted(started, key=lambda job: (job.running.start_s, job.task.job))

    def _place_all(self) -> None:
        """Offer each waiting job, in turn, nodes with room, or a running job's place."""
        for job in sorted(self._waiting(), key=self._turn):
            placement = self._choose(job)
            if placement is None and (victim := self._victim(job)) is not None:
                self._stop(victim, "evicted", keeps_work=self._policy.resumes)
                placement = self._choose(job)
            if placement is not None:
                self._start(job, placement)
            elif self._policy.head_of_line:
                return

    def _choose(self, job: SlurmJob) -> Placement | None:
        nodes = self._with_room(job, self._free())
        return self._policy.place(job.task, nodes) if nodes else None

    def _with_room(self, job: SlurmJob, nodes: Sequence[NodeState]) -> list[NodeState]:
        types = self._cluster.cluster.node_types
        return [
            node
            for node in nodes
            if job.job_class.runs_on(types[node.node_type].name) and node.has_room(job.task)
        ]

    def _is_held(self) -> bool:
        """Whether waiting jobs have priority and room (HEATS, thesis, section 3.3.4)."""
        if not self._policy.hold_when_pending or not self._waiting():
            return False
        free, wanted = self._free(), [job.task for job in self._waiting()]
        free_cpu_milli = sum(node.free_cpu_milli for node in free)
        free_memory_bytes = sum(node.free_memory_bytes for node in free)
        return free_cpu_milli > sum(task.cpu_milli for task in wanted) and free_memory_bytes > sum(
            task.memory_bytes for task in wanted
        )

    def _turn(self, job: SlurmJob) -> tuple[int, float, int]:
        priority = job.task.priority if self._policy.by_priority else 0
        return -priority, job.arrival_s, job.task.job

    def _victim(self, job: SlurmJob) -> SlurmJob | None:
        free = self._free()
        candidates = {}
        for placed in self._started():
            if self._with_room(job, [_without(free[placed.running.node], placed)]):
                candidates[placed.task.job] = placed
        running = [candidate.running for candidate in candidates.values()]
        chosen = self._policy.evict(job.task, running)
        return None if chosen is None else candidates[chosen.task.job]

    def _reconsider_all(self) -> None:
        if self._is_held():
            return
        for job in self._started():
            if job.number not in self._submitted:  # it ended while another was moved
                continue
            running, nodes = job.running, self._free()
            nodes[running.node] = _without(nodes[running.node], job)
            there = self._policy.reconsider(running, self._with_room(job, nodes))
            if there is None or there.node == running.node:
                continue
            if self._stop(job, "migrated", keeps_work=not self._policy.restarts_moved):
                self._start(job, there)

    def _start(self, job: SlurmJob, placement: Placement) -> None:
        if placement.node not in {state.node for state in self._with_room(job, self._free())}:
            raise TrimtabError(f"the policy puts job {job.task.job} on a node without room for it")
        node = self._cluster.nodes[placement.node]
        kind = self._cluster.cluster.node_types[node.node_type]
        job.placement = Placement(placement.node, placement.level % len(kind.levels))
        service_s = job.left_s / self._speed(job, node.node_type, placement.level)
        self._reports.set_service_s(job.name, kind.name, service_s * self._scale)
        slurm_jobs.start_on(self._cluster, job.number, node.name)

    def _stop(self, job: SlurmJob, end: str, *, keeps_work: bool) -> bool:
        """Stop a job; return False if it has ended by itself meanwhile."""
        job.stopped_s = asked_s = self._now_s()
        slurm_jobs.stop(self._cluster, job.number)
        self._hear(0.0)
        if job.number not in self._submitted:  # it has ended; Slurm would run it again
            slurm_jobs.cancel(self._cluster, job.number)
            return False
        self._leave(job, job.stopped_s or asked_s, end, keeps_work=keeps_work)
        return True

    def _free(self) -> list[NodeState]:
        """Return every node with its free resources."""
        free = [
            NodeState(
                index,
                node.node_type,
                node.cores * 1000,
                node.memory_bytes,
                node.cores * 1000,
                0,
                node.memory_bytes,
            )
            for index, node in enumerate(self._cluster.nodes)
        ]
        for job in self._placed():
            assert job.placement is not None
            here = job.placement.node
            free[here] = _without(free[here], job, -1)
        return free


def _without(node: NodeState, job: SlurmJob, count: int = 1) -> NodeState:
    """Return the node without the job; with `count` -1, with one more."""
    return replace(
        node,
        free_cpu_milli=node.free_cpu_milli + count * job.task.cpu_milli,
        free_memory_bytes=node.free_memory_bytes + count * job.task.memory_bytes,
    )
