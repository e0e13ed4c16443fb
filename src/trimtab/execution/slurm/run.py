"""A policy of ours on a real Slurm: it chooses the nodes, moves and evicts; Slurm does it.

Every job is submitted when it arrives, and held. The policy's answers become `scontrol` commands:
a place is a required node and a release; an eviction or a move is a requeue, held, after which the
job is given another place. A job starts up to about a second after it got one, which is Slurm's.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pandas as pd

from trimtab.clusters.cluster import JobClass
from trimtab.errors import TrimtabError
from trimtab.execution.history import JobOutcome
from trimtab.execution.slurm import jobs as slurm_jobs
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.trace import SlurmJob, jobs_of
from trimtab.execution.slurm.trace_run import TraceRun
from trimtab.policies.base import NodeState, Placement, Policy, Running


def run_policy(
    cluster: SlurmCluster,
    trace: pd.DataFrame,
    job_classes: Sequence[JobClass],
    policy: Policy,
    *,
    scale: float = 1.0,
) -> JobOutcome:
    """Run `trace` under `policy` and return what happened, in the trace's seconds.

    A second of the trace takes `scale` seconds, so what Slurm itself needs counts 1 / scale times
    as much. `trace` and `job_classes` are as in `jobs_of`. A job that moves goes on with the work
    that is left, one that is evicted only if the policy `resumes`: its command is started again
    and told so in TRIMTAB_SERVICE_S, its seconds on that node at that frequency level.

    Left out are a change of level alone, sprinting, image pulls and cold starts; jobs with dropped
    tasks are those whose `work_s` is shorter. No energy is measured: the nodes are virtual.

    Raises UserError for jobs that cannot run, and TrimtabError when the policy leaves jobs waiting
    for ever, chooses a node without room, or when a job does not report in time.
    """
    with _PolicyRun(cluster, jobs_of(trace, cluster, job_classes), policy, scale) as run:
        run.run()
    return run.outcome(trace, resumes=policy.resumes)


class _PolicyRun(TraceRun):
    def __init__(
        self, cluster: SlurmCluster, jobs: list[SlurmJob], policy: Policy, scale: float
    ) -> None:
        super().__init__(cluster, jobs, scale)
        self._policy = policy
        self._tick_s = policy.tick_s

    def submit(self, job: SlurmJob) -> int:
        return slurm_jobs.submit(
            self.cluster,
            self.reports.script(job.name, job.command),
            cores=job.cores,
            memory_bytes=job.task.memory_bytes,
            held=True,
        )

    def act(self) -> None:
        self._place_all()
        if self._tick_s <= self.now_s():
            self._reconsider_all()
            self._tick_s = self.now_s() + self._policy.tick_s
        if self._waiting() and not self._placed() and self.all_arrived:
            left = ", ".join(str(job.task.job) for job in self._waiting())
            raise TrimtabError(f"nothing runs, and the policy gives no node to the jobs {left}")

    def next_s(self) -> float:
        return self._tick_s if self._placed() else inf

    def awaited_s(self) -> float:
        return max((self.service_s(job) for job in self._placed()), default=inf)

    def stopped(self, job: SlurmJob, time_s: float) -> None:
        job.stopped_s = time_s

    def _waiting(self) -> list[SlurmJob]:
        return [job for job in self.submitted.values() if job.placement is None]

    def _placed(self) -> list[SlurmJob]:
        return [job for job in self.submitted.values() if job.placement is not None]

    def _place_all(self) -> None:
        """Offer each waiting job, in turn, the nodes that have room, or a running job's place."""
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

    def _is_held(self) -> bool:
        """Whether jobs that wait come first, and have room (HEATS, thesis, section 3.3.4)."""
        if not self._policy.hold_when_pending or not self._waiting():
            return False
        free = self._free()
        wanted = [job.task for job in self._waiting()]
        return sum(node.free_cpu_milli for node in free) > sum(
            task.cpu_milli for task in wanted
        ) and sum(node.free_memory_bytes for node in free) > sum(
            task.memory_bytes for task in wanted
        )

    def _turn(self, job: SlurmJob) -> tuple[int, float, int]:
        priority = job.task.priority if self._policy.by_priority else 0
        return -priority, job.arrival_s, job.task.job

    def _victim(self, job: SlurmJob) -> SlurmJob | None:
        free = self._free()
        candidates = {}
        started = [placed for placed in self._placed() if placed.started_s is not None]
        for placed in sorted(started, key=_start_of):
            assert placed.placement is not None
            if _without(free[placed.placement.node], placed).has_room(job.task):
                candidates[placed.task.job] = (placed, _running(placed))
        chosen = self._policy.evict(job.task, [running for _, running in candidates.values()])
        return None if chosen is None else candidates[chosen.task.job][0]

    def _reconsider_all(self) -> None:
        if self._is_held():
            return
        started = [job for job in self._placed() if job.started_s is not None]
        for job in sorted(started, key=_start_of):
            if job.number not in self.submitted:  # it ended while another was moved
                continue
            assert job.placement is not None
            here = job.placement.node
            nodes = self._free()
            nodes[here] = _without(nodes[here], job)
            there = self._policy.reconsider(_running(job), self._with_room(job, nodes))
            if there is None or there.node == here:
                continue
            if self._stop(job, "migrated", keeps_work=True):
                self._start(job, there)

    def _start(self, job: SlurmJob, placement: Placement) -> None:
        nodes = {state.node for state in self._with_room(job, self._free())}
        if placement.node not in nodes:
            raise TrimtabError(f"the policy puts job {job.task.job} on a node without room for it")
        kind = self.cluster.type_of(placement.node)
        job.placement = Placement(placement.node, placement.level % len(kind.levels))
        number = self.cluster.nodes[placement.node].node_type
        service_s = job.left_s / self.speed(job, number, placement.level)
        self.reports.set_service_s(job.name, kind.name, service_s * self.scale)
        slurm_jobs.start_on(self.cluster, job.number, self.cluster.nodes[placement.node].name)

    def _stop(self, job: SlurmJob, end: str, *, keeps_work: bool) -> bool:
        """Take a job off its node; False: it has ended by itself meanwhile."""
        job.stopped_s = asked_s = self.now_s()
        slurm_jobs.stop(self.cluster, job.number)
        self.hear(0.0)
        if job.number not in self.submitted:  # Slurm would run it again
            slurm_jobs.cancel(self.cluster, job.number)
            return False
        self.leave(job, job.stopped_s or asked_s, end, keeps_work=keeps_work)
        return True

    def _free(self) -> list[NodeState]:
        """Return every node with what no placed job has of it."""
        used = [[0, 0] for _ in self.cluster.nodes]
        for job in self._placed():
            assert job.placement is not None
            used[job.placement.node][0] += job.task.cpu_milli
            used[job.placement.node][1] += job.task.memory_bytes
        return [
            NodeState(
                index,
                node.node_type,
                node.cores * 1000,
                node.memory_bytes,
                node.cores * 1000 - cpu_milli,
                0,
                node.memory_bytes - memory_bytes,
            )
            for index, (node, (cpu_milli, memory_bytes)) in enumerate(
                zip(self.cluster.nodes, used, strict=True)
            )
        ]

    @staticmethod
    def _with_room(job: SlurmJob, nodes: Sequence[NodeState]) -> list[NodeState]:
        return [node for node in nodes if node.has_room(job.task)]


def _running(job: SlurmJob) -> Running:
    assert job.placement is not None
    assert job.started_s is not None
    return Running(job.task, job.placement.node, job.placement.level, job.started_s)


def _start_of(job: SlurmJob) -> tuple[float, int]:
    assert job.started_s is not None
    return job.started_s, job.task.job


def _without(node: NodeState, job: SlurmJob) -> NodeState:
    """Return the node as it were without the job."""
    return replace(
        node,
        free_cpu_milli=node.free_cpu_milli + job.task.cpu_milli,
        free_memory_bytes=node.free_memory_bytes + job.task.memory_bytes,
    )
