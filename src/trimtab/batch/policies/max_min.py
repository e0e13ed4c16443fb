"""Gavel's max-min fairness over throughputs by node type, in rounds with preemption.

Narayanan and others, Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads
(OSDI 2020). The policy (section 4.1) finds the share of time x[m][j] that each job m should have on
each node type j:

    maximise the least of  width[m] * sum_j x[m][j] * throughput[m][j] / equal[m]
    where  sum_j x[m][j] <= 1,  and the jobs fit the nodes of each type,

with equal[m] the throughput if the job had an equal share of all types. Of equal answers that of
the largest sum is taken. The mechanism (section 5) gives each type, in every round, to the jobs of
the highest priority: what the job should have had there so far, over what it had. Jobs without
checkpoints keep their nodes. What other resources leave is given to jobs that were to get none.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.policies.base import ActiveJobs, BatchPolicy
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError

_NONE = -1
_RESOURCES = ("cpu_milli", "gpu_milli", "memory_bytes")


class Groups(NamedTuple):
    """Groups of equal jobs: how many, their width, their demands and rates.

    `demands` [group, resource] are of a job, `capacity` [node type, resource] of all nodes of a
    type; `rates` [group, node type] is the throughput relative to any, 0 where none can run.
    """

    jobs: NDArray[np.int64]
    width: NDArray[np.float64]
    demands: NDArray[np.float64]
    rates: NDArray[np.float64]
    capacity: NDArray[np.float64]


def max_min_shares(groups: Groups) -> NDArray[np.float64]:
    """Return the share of time of a job of each group on each node type, [group, node type]."""
    count, types = groups.rates.shape
    equal = groups.rates @ _sizes(groups.capacity)
    gains = groups.width[:, np.newaxis] * groups.rates / equal[:, np.newaxis]
    fit, limits = _fit(groups)
    once = np.zeros((count, count * types + 1))
    least = np.zeros((count, count * types + 1))
    for group in range(count):
        own = slice(group * types, (group + 1) * types)
        once[group, own] = 1.0
        least[group, own] = -gains[group]
    least[:, -1] = 1.0
    most = np.append(np.where(groups.rates > 0, 1.0, 0.0).ravel(), np.inf)
    rows = np.vstack([once, fit, least])
    limits = np.concatenate([np.ones(count), limits, np.zeros(count)])
    objective = np.zeros(count * types + 1)
    objective[-1] = -1.0
    found = _solve(objective, rows, limits, most)
    # Of equal answers, the most throughput in all.
    floor = found[-1] * (1 - 1e-7)
    limits[-count:] = -floor
    rows[-count:, -1] = 0.0
    objective = np.append(-(gains * groups.jobs[:, np.newaxis]).ravel(), 0.0)
    most[-1] = 0.0
    shares: NDArray[np.float64] = _solve(objective, rows, limits, most)[:-1].reshape(count, types)
    return np.where(shares > 1e-9, shares, 0.0)


def _sizes(capacity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of the cluster that is of each node type: by GPUs, or cores without any."""
    resource = 1 if capacity[:, 1].any() else 0
    sizes: NDArray[np.float64] = capacity[:, resource] / capacity[:, resource].sum()
    return sizes


def _fit(groups: Groups) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows and limits of what is on each node type at once."""
    count, types = groups.rates.shape
    rows, limits = [], []
    for resource in range(groups.demands.shape[1]):
        asked = groups.jobs * groups.demands[:, resource]
        for number in range(types):
            row = np.zeros((count, types))
            row[:, number] = asked
            scale = max(float(groups.capacity[number, resource]), 1.0)
            rows.append(np.append(row.ravel() / scale, 0.0))
            limits.append(groups.capacity[number, resource] / scale)
    return np.array(rows), np.array(limits)


def _solve(
    objective: NDArray[np.float64],
    rows: NDArray[np.float64],
    limits: NDArray[np.float64],
    most: NDArray[np.float64],
) -> NDArray[np.float64]:
    from scipy.optimize import linprog

    bounds = np.column_stack([np.zeros(len(most)), most])
    answer = linprog(objective, A_ub=rows, b_ub=limits, bounds=bounds, method="highs")
    if answer.x is None:
        raise UserError(f"max_min: the linear program has no answer: {answer.message}")
    return np.asarray(answer.x, np.float64)


class MaxMin(BatchPolicy):
    """With `aware` False, all node types count as equally fast: the policy without Gavel's gain."""

    rounds = True

    def __init__(self, round_s: float, aware: bool) -> None:
        """Raise UserError for rounds below 1 s."""
        if not round_s >= 1:
            raise UserError(f"max_min: round_s: {round_s:g} given, expected 1 s or more")
        self.reorder_s, self.aware = round_s, aware
        self._entitled: dict[int, NDArray[np.float64]] = {}  # rounds by job and node type
        self._received: dict[int, NDArray[np.float64]] = {}
        self._shares: dict[bytes, NDArray[np.float64]] = {}  # the last answer, by its question

    def assign(self, jobs: ActiveJobs, cluster: Cluster, now_s: float) -> NDArray[np.int64]:
        """Return node types by the highest priorities."""
        capacity = _capacity(cluster)
        shares = self._optimal(jobs, capacity)
        types = shares.shape[1]
        nothing = np.zeros(types)
        before = self._entitled, self._received
        slots = jobs.job.tolist()
        entitled = np.array([before[0].get(slot, nothing) for slot in slots]) + shares
        received = np.array([before[1].get(slot, nothing) for slot in slots])
        with np.errstate(divide="ignore", invalid="ignore"):
            priority = np.where(shares > 0, entitled / received, 0.0)
        chosen = _by_priority(jobs, priority, shares, capacity)
        has = chosen != _NONE
        received[np.flatnonzero(has), chosen[has]] += 1.0
        self._entitled = dict(zip(slots, entitled, strict=True))
        self._received = dict(zip(slots, received, strict=True))
        return chosen

    def _optimal(self, jobs: ActiveJobs, capacity: NDArray[np.float64]) -> NDArray[np.float64]:
        keys = np.column_stack([jobs.kind, jobs.parts])
        _, first, of_job, count = np.unique(
            keys, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        question = np.column_stack([keys[first], count]).tobytes()
        if question not in self._shares:
            slowdown = jobs.slowdown[first]
            rates = 1.0 / slowdown if self.aware else np.isfinite(slowdown).astype(float)
            demands = np.column_stack([getattr(jobs, name)[first] for name in _RESOURCES])
            groups = Groups(count, jobs.share[first], demands.astype(float), rates, capacity)
            self._shares = {question: max_min_shares(groups)}
        return self._shares[question][of_job.ravel()]


def _capacity(cluster: Cluster) -> NDArray[np.float64]:
    return np.array(
        [
            [count * float(getattr(node_type, name)) for name in _RESOURCES]
            for node_type, count in zip(cluster.node_types, cluster.counts, strict=True)
        ]
    )


def _by_priority(
    jobs: ActiveJobs,
    priority: NDArray[np.float64],
    shares: NDArray[np.float64],
    capacity: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the node type of each job: the highest priorities first, as far as there is room.

    Ties: the larger share, then the earlier job. Jobs of no priority come last, on the fastest
    type.
    """
    demands = np.column_stack([getattr(jobs, name) for name in _RESOURCES]).astype(float)
    left = capacity.copy()
    chosen = np.where(jobs.stays, jobs.node_type, _NONE)
    for job in np.flatnonzero(jobs.stays):
        left[chosen[job]] -= demands[job]
    job_of, type_of = np.nonzero(np.isfinite(jobs.slowdown) & ~jobs.stays[:, np.newaxis])
    order = np.lexsort(
        (
            job_of,
            jobs.slowdown[job_of, type_of],
            -shares[job_of, type_of],
            -priority[job_of, type_of],
        )
    )
    for at in order:
        job, number = job_of[at], type_of[at]
        if chosen[job] == _NONE and (demands[job] <= left[number]).all():
            chosen[job] = number
            left[number] -= demands[job]
    return np.asarray(chosen, np.int64)


def build(*, round_s: float = 360.0, aware: float = 1.0) -> BatchPolicy:
    """Return the policy; rounds last 6 minutes in the paper; `aware` 0: types count as equal."""
    return MaxMin(round_s, bool(aware))
