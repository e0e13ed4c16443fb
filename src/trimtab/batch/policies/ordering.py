"""The order of waiting jobs that a policy gives, asked with no more columns than it reads."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.kernel.layout import BatchState
from trimtab.batch.policies.base import BatchPolicy, WaitingJobs, answers
from trimtab.errors import UserError


class _Gathered(WaitingJobs):
    """Waiting jobs whose columns are gathered once they are read."""

    def __init__(
        self,
        job: NDArray[np.int64],
        columns: dict[str, NDArray[Any]],
        usage: NDArray[np.float64],
    ) -> None:
        """`columns` are of all jobs, `usage` of all users."""
        self.__dict__.update(job=job, _columns=columns, _usage=usage)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name == "user_usage":
            values = self._usage.take(self.user)
        elif name in self._columns:
            values = self._columns[name].take(self.job)
        else:
            raise AttributeError(name)
        self.__dict__[name] = values
        return values


class Ordering:
    """Asks a policy for the order of jobs (BATCH_JOBS) in the simulator's state."""

    def __init__(self, jobs: pd.DataFrame, state: BatchState, policy: BatchPolicy) -> None:
        self._policy = policy
        rows = state.jobs[: len(jobs)]
        kinds = state.kinds[rows["kind"]]
        self._columns = {
            "submit_s": rows["submit_s"].copy(),
            # Those of interrupted jobs change.
            "estimate_s": rows["estimate_s"]
            if state.clock["interrupts"]
            else rows["estimate_s"].copy(),
            "parts": rows["parts"].copy(),
            "cpu_milli": kinds["cpu"].copy(),
            "gpu_milli": kinds["gpu"].copy(),
            "memory_bytes": kinds["memory"].copy(),
            "priority": jobs["priority"].to_numpy(np.int64),
            "share": rows["share"].copy(),
            "user": rows["user"].copy(),
            "queue": pd.factorize(jobs["queue"])[0],
            "deadline_s": jobs["deadline_s"].fillna(np.inf).to_numpy(np.float64),
        }

    def of(
        self, slots: NDArray[np.int64], users: NDArray[np.void], now_s: float
    ) -> NDArray[np.float64]:
        """Return the order of the jobs `slots`, which wait; `users` are those of the state.

        Raises UserError unless the policy gives a number for each.
        """
        policy = self._policy
        kept = 0.5 ** ((now_s - users["at_s"]) / policy.usage_half_life_s)
        lasting_s = policy.usage_half_life_s / math.log(2)
        usage = users["usage_s"] * kept + users["share"] * lasting_s * (1 - kept)
        with answers(policy, "order"):
            jobs = _Gathered(slots, self._columns, usage)
            order = np.asarray(policy.order(jobs, now_s), np.float64)
        if order.shape != slots.shape or np.isnan(order).any():
            raise UserError(
                f"{type(policy).__name__}.order: expected {len(slots)} numbers, one for each "
                f"waiting job; the shape is {order.shape}, and {int(np.isnan(order).sum())} are no"
                " number"
            )
        return order


def sorted_again(
    slots: NDArray[np.int64], order: NDArray[np.float64], tier: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Return the places of jobs by tier, the highest first, then by order, then by slot.

    Without tiers, it is fast where `slots` are nearly sorted already.
    """
    if tier is not None:
        return np.lexsort((slots, order, -tier))
    found = np.argsort(order, kind="stable")
    order_then, then = order.take(found), slots.take(found)
    if ((order_then[1:] == order_then[:-1]) & (then[1:] < then[:-1])).any():
        return np.lexsort((slots, order))
    return found
