"""Rounds: a policy gives each job a node type until the next round."""

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.kernel.layout import NIL, BatchState
from trimtab.batch.kernel.library import Simulator
from trimtab.batch.policies.base import ActiveJobs, BatchPolicy, answers
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError


def assign_round(simulator: Simulator, cluster: Cluster, policy: BatchPolicy) -> None:
    """Ask the policy for a round; preempt jobs that lose their nodes, and mark those that start.

    Wide jobs are placed first. Raises UserError unless the policy gives each job a node type that
    it can run on, or -1.
    """
    s = simulator.state
    clock = s.clock[0]
    jobs = _active(s)
    if not len(jobs.job):  # reclaimed nodes alone are in use
        return
    with answers(policy, "assign"):
        chosen = np.asarray(policy.assign(jobs, cluster, float(clock["now_s"])))
    _check(policy, jobs, chosen)
    s.progress["target"][jobs.job] = np.where(chosen != jobs.node_type, chosen, NIL)
    leaves = (jobs.node_type != NIL) & (chosen != jobs.node_type) & ~jobs.stays
    for slot in jobs.job[leaves]:
        simulator.preempt(slot)
    waiting = s.waiting[: clock["waiting"]]
    share = s.jobs["share"][waiting]
    s.waiting[: len(waiting)] = waiting[np.lexsort((waiting, -share))]


def _active(s: BatchState) -> ActiveJobs:
    clock = s.clock[0]
    running = s.running[: clock["running"]]
    running = running[running < clock["submissions"]]  # others stand in for reclaimed nodes
    slots = np.sort(np.concatenate([s.waiting[: clock["waiting"]], running]))
    rows, progress = s.jobs[slots], s.progress[slots]
    runs = np.isin(slots, running)
    kinds, parts = s.kinds[rows["kind"]], rows["parts"]
    slowdown = s.sites["slowdown"][rows["kind"]]
    room = s.sites["most_parts"][rows["kind"]] >= parts[:, np.newaxis]
    return ActiveJobs(
        job=slots,
        kind=rows["kind"],
        parts=parts,
        share=rows["share"],
        cpu_milli=kinds["cpu"] * parts,
        gpu_milli=kinds["gpu"] * parts,
        memory_bytes=kinds["memory"] * parts,
        slowdown=np.where(room, slowdown, np.inf),
        node_type=np.where(runs, rows["type"], NIL),
        stays=runs & ((progress["leaving"] != 0) | (progress["saves"] == 0)),
    )


def _check(policy: BatchPolicy, jobs: ActiveJobs, chosen: NDArray[np.int64]) -> None:
    types = jobs.slowdown.shape[1]
    good = chosen.shape == jobs.job.shape and np.issubdtype(chosen.dtype, np.integer)
    if good and ((chosen >= NIL) & (chosen < types)).all():
        known = chosen != NIL
        if np.isfinite(jobs.slowdown[known, chosen[known]]).all():
            return
    raise UserError(
        f"{type(policy).__name__}.assign: expected for each of {len(jobs.job)} jobs the number of a"
        f" node type that it can run on, 0 to {types - 1}, or -1"
    )
