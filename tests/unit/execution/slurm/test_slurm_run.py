"""Policies on a real Slurm: order, eviction and migration.

Slurm starts a job up to a second after it may, so nothing here hangs on less.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.errors import TrimtabError, UserError
from trimtab.execution.history import JobOutcome
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.jobs import cancel, jobs_of, show, start_on, submit
from trimtab.execution.slurm.run import run_policy
from trimtab.policies.base import NodeState, PendingTask, Placement, Policy, RunningTask
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.priority import Priority

CLASSES = [JobClass("low"), JobClass("high", 1, slowdown={"slow-arm": 2.0})]


def trace(*rows: dict[str, object]) -> pd.DataFrame:
    """Return a trace; each row says what differs from a low job of one core at 0 s."""
    usual = {
        "arrival_s": 0.0,
        "job_class": "low",
        "priority": 0,
        "cpu_milli": 1000,
        "gpu_milli": 0,
        "memory_bytes": 1 << 30,
        "work_s": 0.1,
        "map_tasks": 0,
        "reduce_tasks": 0,
    }
    return pd.DataFrame([{"job": job, **usual, **row} for job, row in enumerate(rows)])


LOW, HIGH = {"cpu_milli": 4000}, {"cpu_milli": 4000, "job_class": "high", "priority": 1}


class Engine(Priority):
    """One job at a time, on the first node."""

    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        return Placement(0, -1) if nodes[0].node == 0 else None

    def evict(self, task: PendingTask, running: Sequence[RunningTask]) -> RunningTask | None:
        return super().evict(task, [other for other in running if other.node == 0])


def column(outcome: JobOutcome, name: str) -> list[float]:
    values: list[float] = outcome.jobs.set_index("job").sort_index()[name].tolist()
    return values


def test_a_secure_job_runs_on_the_node_with_the_enclave_alone(slurm: SlurmCluster) -> None:
    """Job 0 is on the slow node at twice its time; the fast ones are for job 1 alone."""
    classes = [JobClass("secure", protection={"slow-arm": 2.0}), JobClass("low")]
    secure = {"job_class": "secure", "work_s": 0.5}
    outcome = run_policy(slurm, trace(secure, {}), classes, FirstComeFirstServed())
    assert column(outcome, "node") == [2, 0]
    assert column(outcome, "execution_s")[0] >= 0.5 / 0.5 * 2.0
    with pytest.raises(UserError, match="fit no node with an enclave for them"):
        run_policy(slurm, trace(secure | LOW), classes, FirstComeFirstServed())


def test_slurm_itself_refuses_a_secure_job_other_nodes(slurm: SlurmCluster) -> None:
    with pytest.raises(TrimtabError, match="Invalid feature"):
        submit(slurm, "#!/bin/sh\ntrue\n", constraint="enclave_none")
    job = submit(slurm, "#!/bin/sh\ntrue\n", constraint="enclave_sgx1")
    start_on(slurm, job, "fast-1")
    slurm.wait_until(
        lambda: show(slurm, job)["Reason"] in ("BadConstraints", "ReqNodeNotAvail"), "no reason"
    )
    assert show(slurm, job)["JobState"] == "PENDING"
    cancel(slurm, job)


def test_by_priority_without_preemption(slurm: SlurmCluster) -> None:
    """Job 3 fails, which is reported; a trace in other seconds gives its own seconds back."""
    jobs = trace(
        {**LOW, "work_s": 40.0},
        LOW,
        {**HIGH, "arrival_s": 15.0, "work_s": 1.0},
        {**HIGH, "arrival_s": 16.0, "command": "exit 3"},
    )
    jobs["command"] = jobs["command"].fillna('exec sleep "$TRIMTAB_SERVICE_S"')
    outcome = run_policy(slurm, jobs, CLASSES, Engine("none"), scale=0.1)
    assert outcome.jobs["job"].tolist() == [0, 2, 3, 1]
    assert outcome.exit_codes == {0: 0, 1: 0, 2: 0, 3: 3}
    assert outcome.allocations["end"].tolist() == ["finished", "finished", "failed", "finished"]
    assert outcome.jobs["evictions"].sum() == 0
    assert column(outcome, "execution_s")[0] >= 39.9
    starts, ends = outcome.allocations["start_s"].tolist(), outcome.allocations["end_s"].tolist()
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert (outcome.jobs["start_s"] >= outcome.jobs["arrival_s"]).all()
    assert outcome.jobs["energy_j"].isna().all()


# The low job starts well before 2.2 s and is far from its end then.
LOW_THEN_HIGH = ({**LOW, "work_s": 3.5}, LOW, {**HIGH, "arrival_s": 2.2, "work_s": 4.5})


def test_the_low_job_is_evicted_and_starts_again(slurm: SlurmCluster) -> None:
    """Before job 1, which waits in the same buffer."""
    outcome = run_policy(slurm, trace(*LOW_THEN_HIGH), CLASSES, Engine("repeat"))
    assert outcome.jobs["job"].tolist() == [2, 0, 1]
    assert column(outcome, "evictions") == [1, 0, 0]
    first, again = outcome.allocations[outcome.allocations["job"] == 0].itertuples()
    assert (first.end, again.end) == ("evicted", "finished")
    assert column(outcome, "wasted_s") == [pytest.approx(first.end_s - first.start_s), 0, 0]
    assert column(outcome, "execution_s")[0] == pytest.approx(again.end_s - again.start_s)
    assert column(outcome, "execution_s")[0] >= 3.49  # all of its work, again


class Mover(Policy):
    """Starts on the first node, and moves to the slow one at the first tick."""

    tick_s = 0.2

    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        return Placement(nodes[0].node, 0)

    def reconsider(self, running: RunningTask, nodes: Sequence[NodeState]) -> Placement | None:
        own = next(node for node in nodes if node.node == running.node)
        assert own.free_cpu_milli == own.cpu_milli
        return Placement(2, 1) if running.node != 2 else None


def test_a_moved_job_does_the_rest_of_its_work(slurm: SlurmCluster, tmp_path: Path) -> None:
    """At a quarter of the speed: half as fast a node, on which its class takes twice as long."""
    told = tmp_path / "told"
    command = f'echo $TRIMTAB_SERVICE_S >> {told}; exec sleep "$TRIMTAB_SERVICE_S"'
    jobs = trace({"job_class": "high", "work_s": 1.0, "cpu_milli": 2000, "command": command})
    outcome = run_policy(slurm, jobs, CLASSES, Mover())
    here, there = outcome.allocations.itertuples()
    assert (here.node, there.node) == (0, 2)
    assert (here.end, there.end, there.level) == ("migrated", "finished", 1)
    left_s = max(0.0, 1.0 - (here.end_s - here.start_s))
    assert [float(line) for line in told.read_text().split()] == [
        1.0,
        pytest.approx(left_s / 0.25, abs=1e-5),
    ]
    assert there.end_s - there.start_s >= left_s / 0.25
    assert column(outcome, "migrations") == [1]
    assert column(outcome, "wasted_s") == [0]


class Stubborn(Policy):
    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        return None


class Reckless(Policy):
    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        return Placement(2, 0)


def test_policies_that_cannot_go_on(slurm: SlurmCluster) -> None:
    with pytest.raises(TrimtabError, match="gives no node to the jobs 0, 1"):
        run_policy(slurm, trace({}, {}), CLASSES, Stubborn())
    with pytest.raises(TrimtabError, match="job 0 on a node without room"):
        run_policy(slurm, trace({"cpu_milli": 4000}), CLASSES, Reckless())
    waiting = slurm.call("squeue", "--noheader", "--states=PENDING,RUNNING")
    assert waiting.strip() == "", "jobs of a run that failed are still there"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"cpu_milli": 1500}, "job 0: cpu_milli: 1500: Slurm gives whole cores"),
        ({"cpu_milli": 5000}, "job 0: 5 cores and .* fit no node"),
        ({"memory_bytes": 1 << 40}, "job 0: 1 cores and 1099511627776 bytes fit no node"),
        ({"gpu_milli": 1}, "job 0: gpu_milli: 1"),
        ({"work_s": math.nan}, "job 0: work_s: nan"),
        ({"job_class": "other"}, "job 0: job_class: other: there are low, high"),
    ],
)
def test_jobs_that_no_node_can_run(nodes: Cluster, wrong: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        jobs_of(trace(wrong), SlurmCluster(nodes), CLASSES)
