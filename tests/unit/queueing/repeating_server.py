"""A server whose interrupted jobs start again, simulated job by job."""

import heapq

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.phase_type import PhaseType


def simulate_repeating(
    rates: list[float], services: list[PhaseType], jobs: int, seed: int, resample: bool = False
) -> tuple[list[NDArray[np.float64]], float]:
    """Response times of each class, s, and the share of the busy time spent on lost attempts.

    An interrupted job restarts with the same service time, or with `resample` a new one.
    """
    rng = np.random.default_rng(seed)
    arrival_s = rng.exponential(1 / sum(rates), jobs).cumsum()
    job_class = rng.choice(len(rates), jobs, p=np.array(rates) / sum(rates))
    service_s = np.empty(jobs)
    for k, service in enumerate(services):
        service_s[job_class == k] = service.sample(rng, int((job_class == k).sum()))
    arrivals = list(zip(arrival_s.tolist(), job_class.tolist(), strict=True))
    end_s = np.zeros(jobs)
    lost_s = 0.0
    waiting: list[tuple[int, int]] = []  # class, number: an evicted job comes before later ones
    now, arrived = 0.0, 0
    while arrived < jobs or waiting:
        if not waiting:
            now = max(now, arrivals[arrived][0])
        while arrived < jobs and arrivals[arrived][0] <= now:
            heapq.heappush(waiting, (arrivals[arrived][1], arrived))
            arrived += 1
        k, job = waiting[0]
        end = now + service_s[job]
        more_important = None
        while arrived < jobs and arrivals[arrived][0] < end and more_important is None:
            if arrivals[arrived][1] < k:
                more_important = arrivals[arrived][0]
            heapq.heappush(waiting, (arrivals[arrived][1], arrived))
            arrived += 1
        if more_important is None:
            now = end
            end_s[job] = now
            waiting.remove((k, job))
            heapq.heapify(waiting)
        else:
            lost_s += more_important - now
            now = more_important
            if resample:
                service_s[job] = services[k].sample(rng, 1)[0]
    waste = lost_s / (lost_s + float(service_s.sum()))
    warm = np.arange(jobs) >= jobs // 20
    response_s = end_s - arrival_s
    return [response_s[warm & (job_class == k)] for k in range(len(rates))], waste
