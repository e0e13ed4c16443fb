"""A single server with priorities, simulated job by job: the second way to the response times."""

import heapq

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.mmap import MarkedArrivals
from trimtab.queueing.phase_type import PhaseType
from trimtab.traces.markovian import marked_arrivals


def simulated_responses(
    arrivals: MarkedArrivals, services: list[PhaseType], preemptive: bool, jobs: int, seed: int
) -> list[NDArray[np.float64]]:
    """Response times of each class in the order of arrival, without those of the first tenth."""
    rng = np.random.default_rng(seed)
    arrival_s, job_class = next(marked_arrivals(arrivals.hidden, arrivals.marked, rng, jobs))
    left_s = np.empty(jobs)
    for k, service in enumerate(services):
        mine = job_class == k
        left_s[mine] = service.sample(rng, int(mine.sum()))
    end_s = _ends(arrival_s.tolist(), job_class.tolist(), left_s.tolist(), preemptive)
    response_s = np.array(end_s) - arrival_s
    warm = np.arange(jobs) >= jobs // 10
    return [response_s[warm & (job_class == k)] for k in range(len(services))]


def _ends(
    arrival_s: list[float], job_class: list[int], left_s: list[float], preemptive: bool
) -> list[float]:
    jobs = len(arrival_s)
    end_s = [0.0] * jobs
    waiting: list[tuple[int, int]] = []
    now, arrived = 0.0, 0
    while arrived < jobs or waiting:
        if not waiting:
            now = max(now, arrival_s[arrived])
        while arrived < jobs and arrival_s[arrived] <= now:
            heapq.heappush(waiting, (job_class[arrived], arrived))
            arrived += 1
        k, job = heapq.heappop(waiting)
        until = now + left_s[job]
        while preemptive and arrived < jobs and arrival_s[arrived] < until:
            if job_class[arrived] < k:
                left_s[job] = until - arrival_s[arrived]
                until = arrival_s[arrived]
                heapq.heappush(waiting, (k, job))
                job = -1
                break
            heapq.heappush(waiting, (job_class[arrived], arrived))
            arrived += 1
        now = until
        if job >= 0:
            end_s[job] = now
    return end_s
