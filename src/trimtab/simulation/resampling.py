"""New service times of evicted jobs: preemptive repeat with resampling.

A recorded trace does not say what its service times were drawn from. So an evicted job takes that
of a job of its class, drawn with equal probabilities from the whole trace. The draw is a function
of the job and the attempt.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.round_times import uniform

# After the numbers of the rounds, whose tasks draw by the same function; uniform.h has it, too.
_ATTEMPTS = 4


class ServiceTimes(NamedTuple):
    """The service times of a trace's jobs, s: those of class k are from `begins[k]` on."""

    work_s: NDArray[np.float64]
    begins: NDArray[np.int64]


NOTHING = ServiceTimes(np.zeros(0), np.zeros(1, np.int64))


def service_times_of(
    chunks: Sequence[NDArray[np.void]], shapes: NDArray[np.void], classes: int
) -> ServiceTimes:
    """Return the service times of a trace's `chunks` (layout.ARRIVAL), by class."""
    jobs = np.concatenate(chunks)
    job_class = shapes["job_class"][jobs["shape"]]
    order = np.argsort(job_class, kind="stable")
    begins = np.searchsorted(job_class[order], np.arange(classes + 1))
    return ServiceTimes(jobs["work_s"][order].copy(), begins.astype(np.int64))


def resampled_s(
    work_s: NDArray[np.float64], begins: NDArray[np.int64], job_class: int, job: int, attempt: int
) -> float:
    """Return the service time of a job's attempt, s."""
    begin = begins[job_class]
    count = begins[job_class + 1] - begin
    return float(work_s[begin + int(uniform(0, job, _ATTEMPTS, attempt, 0) * count)])
