"""The interface of policies of batch queues: the order of jobs, who may overtake, which nodes.

A policy answers for many jobs at once, with arrays, so the simulator stays fast where a policy is
plain NumPy.
"""

import math
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError


class Backfill(IntEnum):
    """Who may start before the first waiting job, which has no room.

    NONE: nobody. ANY: whoever has room; wide jobs can starve. EASY: jobs that do not delay the
    first one (Lifka, JSSPP 1995). CONSERVATIVE: jobs that delay none before them (Mu'alem and
    Feitelson, IEEE TPDS 12(6), 2001).
    """

    NONE = 0
    ANY = 1
    EASY = 2
    CONSERVATIVE = 3


@dataclass(frozen=True)
class WaitingJobs:
    """Arrays over waiting jobs, of equal length.

    `estimate_s`: the user's limit, or the run time where none is known. `parts`: the least that a
    moldable job starts with. `deadline_s`: infinite where none is known. `share`: the largest share
    of the cluster's cores, GPUs or memory that the job asks for. `user_usage`: what the job's user
    has used lately, in seconds of the whole cluster, halved every `usage_half_life_s`.
    """

    job: NDArray[np.int64]
    submit_s: NDArray[np.float64]
    estimate_s: NDArray[np.float64]
    parts: NDArray[np.int64]
    cpu_milli: NDArray[np.int64]
    gpu_milli: NDArray[np.int64]
    memory_bytes: NDArray[np.int64]
    priority: NDArray[np.int64]
    share: NDArray[np.float64]
    user: NDArray[np.int64]
    queue: NDArray[np.int64]
    user_usage: NDArray[np.float64]
    deadline_s: NDArray[np.float64]


@dataclass(frozen=True)
class ActiveJobs:
    """Arrays over jobs that wait or run, in the order of submission, of equal length.

    `kind` is equal for jobs with equal demands of a part and equal run times by node type.
    `slowdown` [job, node type] is the run time relative to the recorded one, infinite where the job
    cannot run. `node_type` is the one it runs on now, -1 for none. `stays`: it must not change: it
    has no checkpoints, or is being taken off its nodes. `gpu_milli`, `cpu_milli`, `memory_bytes`
    are of all parts together.
    """

    job: NDArray[np.int64]
    kind: NDArray[np.int64]
    parts: NDArray[np.int64]
    share: NDArray[np.float64]
    cpu_milli: NDArray[np.int64]
    gpu_milli: NDArray[np.int64]
    memory_bytes: NDArray[np.int64]
    slowdown: NDArray[np.float64]
    node_type: NDArray[np.int64]
    stays: NDArray[np.bool_]


@contextmanager
def answers(policy: "BatchPolicy", hook: str) -> Iterator[None]:
    """Raise UserError, with the place in its file, where a policy's hook fails."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise UserError(
            f"{type(policy).__name__}.{hook}: {type(error).__name__}: {error} "
            f"({place.filename}:{place.lineno})"
        ) from error


class BatchPolicy:
    """The base of every policy of batch queues: first come, first served, on the first nodes.

    Jobs are sorted by `order`, smallest first, ties by submission. With `reorder_s`, it is asked
    for all waiting jobs at each submission and in intervals of this many seconds. Without, it is
    asked once for all jobs, at 0 s.

    With `rounds`, jobs start and change node types by `assign` alone, every `reorder_s`.
    """

    backfill: Backfill = Backfill.EASY
    reorder_s: float = math.inf
    usage_half_life_s: float = 7 * 86400.0
    rounds: bool = False

    def order(self, jobs: WaitingJobs, now_s: float) -> NDArray[np.float64]:
        """Return a number for each job; the smallest is served first."""
        return jobs.submit_s

    def level(
        self, run_s: NDArray[np.float64], energy_j: NDArray[np.float64]
    ) -> NDArray[np.int64] | None:
        """Return the level of frequency or power of each kind of job on each node type, 0 lowest.

        `run_s` and `energy_j` are as of `cost`, [kind, node type, level]; infinite also where there
        is no such level. None: the highest.
        """
        return None

    def cost(
        self, run_s: NDArray[np.float64], energy_j: NDArray[np.float64], cluster: Cluster
    ) -> NDArray[np.float64] | None:
        """Return the cost of each kind of job on each node type; the lowest with room is taken.

        `run_s` and `energy_j` are of a job that runs one second on the reference, [kind, node
        type]; infinite where it cannot run. None: the first type with room, as `--nodes` lists
        them.
        """
        return None

    def assign(self, jobs: ActiveJobs, cluster: Cluster, now_s: float) -> NDArray[np.int64]:
        """Return the node type that each job has until the next round, -1 for none.

        Asked with `rounds` alone. A job that runs on another type is preempted: it writes a
        checkpoint and starts again with the work that is left.
        """
        raise NotImplementedError
