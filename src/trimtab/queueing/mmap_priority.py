"""The MMAP[K]/PH[K]/1 priority queue, non-preemptive and preemptive-resume, by transforms.

Horvath analyses this queue in Efficient analysis of the MMAP[K]/PH[K]/1 priority queue, European
Journal of Operational Research 246, 2015; Rocha's thesis, section 4.3, uses it as DiAS' model. The
solution here is a different one. All matrices have the size of the arrival process; of the services
only the transforms are needed. The only approximation is the inversion of the last transform.

For class k, let U be the time until the server would take a less important job or be idle, without
further arrivals. U falls by one a second. An arrival of class k or a more important one adds its
service time to U, as does the non-preemptive start of a less important job. Let p0 be the
probabilities of the phases in an idle queue. Let n_l be the rates by phase at which services of
class l start, and b_l the transform of such a service. Balance of E[exp(-z U)] by phases gives

    u(z) (z I + D0 + sum_{l>k} D_l + sum_{j<=k} D_j b_j(z)) = z p0 + sum_{l>k} n_l (1 - b_l(z)).

p0 is the stationary vector of the phases in idle times. As u is finite right of zero, the n_l
follow, the least important class first. A job of class k waits for the U that it finds, interrupted
by more important arrivals: `busy_period.delay_exponents`. They also interrupt a preempted service;
less important classes do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.queueing.busy_period import delay_exponents
from trimtab.queueing.errors import ModelError, UnstableQueueError
from trimtab.queueing.mmap import MarkedArrivals, stationary_vector
from trimtab.queueing.poisson_priority import Discipline
from trimtab.queueing.response import ResponseTime
from trimtab.queueing.services import Service

_DEPENDENT = 1e6  # condition number of nearly dependent eigenvectors


def priority_queue(
    arrivals: MarkedArrivals, services: Sequence[Service], discipline: Discipline
) -> list[ResponseTime]:
    """Return the response time of each class, waiting and service, the most important first.

    One server takes the most important waiting job, first come, first served within a class. With
    PREEMPTIVE_RESUME, a more important arrival interrupts a job, which resumes later; with
    NON_PREEMPTIVE, the server finishes each job. `services` are the service times of the classes of
    `arrivals`, in the order of decreasing importance. Raises ModelError where their numbers differ
    and for any other discipline, and UnstableQueueError for a load of one or more.
    """
    preemptive = Discipline(discipline) is Discipline.PREEMPTIVE_RESUME
    if not preemptive and discipline != Discipline.NON_PREEMPTIVE:
        raise ModelError(
            f"discipline: no formula for {discipline} of marked arrivals, expected "
            f"{Discipline.NON_PREEMPTIVE} or {Discipline.PREEMPTIVE_RESUME}; for Poisson arrivals "
            "see trimtab.queueing.poisson_priority"
        )
    if len(services) != arrivals.classes:
        raise ModelError(
            f"{len(services)} service times do not fit arrivals of {arrivals.classes} classes"
        )
    arrivals = _with_eigenvectors(arrivals)
    loads = arrivals.rates * [service.mean for service in services]
    if loads.sum() >= 1:
        raise UnstableQueueError(
            f"the load is {loads.sum():.4g} (by class: {', '.join(f'{x:.3g}' for x in loads)}): "
            "more work arrives than the server can do; lower the arrival rates or the "
            "service times"
        )
    queue = _Queue(arrivals, tuple(services))
    starts = np.zeros((arrivals.classes, arrivals.phases))
    idle = [(1 - loads[: k + 1].sum()) * queue.idle_phases(k + 1) for k in range(len(services))]
    if not preemptive:
        idle = idle[-1:] * len(services)
        starts = queue.starts(idle[-1])
    responses = [_Response(queue, k, idle[k], starts, preemptive) for k in range(len(services))]
    return [
        ResponseTime(each.laplace, 1 / service.mean)
        for each, service in zip(responses, services, strict=True)
    ]


def _with_eigenvectors(arrivals: MarkedArrivals) -> MarkedArrivals:
    """Return arrivals whose generator has independent eigenvectors, as nearly all have.

    Otherwise, transition rates between phases grow by a relative 1e-10 at most.
    """
    if np.linalg.cond(np.linalg.eig(arrivals.generator).eigenvectors) < _DEPENDENT:
        return arrivals
    generator = arrivals.generator
    more = generator * np.random.default_rng(0).uniform(0, 1e-10, generator.shape)
    np.fill_diagonal(more, 0)
    return MarkedArrivals(arrivals.hidden + more - np.diag(more.sum(axis=1)), arrivals.marked)


@dataclass(frozen=True, eq=False)
class _Queue:
    """The arrivals and the service times, both by class."""

    arrivals: MarkedArrivals
    services: tuple[Service, ...]

    def quiet(self, k: int) -> NDArray[np.float64]:
        """The phase transitions without arrivals of the `k` most important classes, (n, n)."""
        return np.asarray(self.arrivals.hidden + self.arrivals.marked[k:].sum(axis=0))

    def delay(
        self, s: NDArray[np.complex128], k: int
    ) -> tuple[NDArray[np.complex128], NDArray[np.complex128], NDArray[np.complex128]]:
        """The eigenvalues and eigenvectors of delays that the first `k` classes interrupt."""
        return delay_exponents(s, self.quiet(k), list(self.arrivals.marked[:k]), self.services[:k])

    def idle_phases(self, k: int) -> NDArray[np.float64]:
        """The phase probabilities while no job of the `k` most important classes is present."""
        values, right, left = (part[0] for part in self.delay(np.zeros(1, complex), k))
        return stationary_vector(((right * values) @ left).real)

    def starts(self, idle: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rates, 1/s, by class and phase, (K, n), at which services start.

        They are solved from the last class on; the first class' rates stay 0. Where z is minus an
        eigenvalue of the delay by the classes before k, the left-hand side of the module's balance
        is zero.
        """
        starts = np.zeros((len(self.services), self.arrivals.phases))
        for k in range(len(self.services) - 1, 0, -1):
            values, right, left = (part[0] for part in self.delay(np.zeros(1, complex), k))
            known = ((idle @ right * values) @ left).real
            for later in range(len(self.services) - 1, k - 1, -1):
                ended = ((right * self.services[later].laplace(-values)) @ left).real
                unended = np.eye(self.arrivals.phases) - ended
                if later > k:
                    known -= starts[later] @ unended
            unended[:, 0] = 1.0  # the columns are dependent; the known sum replaces one
            known[0] = self.arrivals.rates[k]
            starts[k] = np.linalg.solve(unended.T, known)
        return starts


@dataclass(frozen=True, eq=False)
class _Response:
    """The response time of class `k`."""

    queue: _Queue
    k: int
    idle: NDArray[np.float64]
    starts: NDArray[np.float64]
    preemptive: bool

    def laplace(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """The transform at every s, 1/s, (m,): the work found, at the exponents of delays.

        In the basis of the exponents' eigenvectors, the integral of a matrix exponential over the
        work is the work's transform at minus each eigenvalue.
        """
        queue, k = self.queue, self.k
        values, right, left = queue.delay(s, k)
        z = -values
        services = queue.services
        transforms = [each.laplace(z) for each in services[: k + 1 if self.preemptive else None]]
        matrix = z[..., None, None] * np.eye(z.shape[1]) + queue.quiet(k + 1)
        for j in range(k + 1):
            matrix = matrix + transforms[j][..., None, None] * queue.arrivals.marked[j]
        entered = (queue.arrivals.marked[k] @ right).transpose(0, 2, 1)
        found = np.linalg.solve(matrix, entered[..., None])[..., 0]
        numerator = z[..., None] * self.idle
        for j in range(k + 1, len(transforms)):
            numerator = numerator + (1 - transforms[j][..., None]) * self.starts[j]
        weights = (numerator * found).sum(axis=2) * left.sum(axis=2) / queue.arrivals.rates[k]
        if self.preemptive:
            return np.asarray((weights * transforms[k]).sum(axis=1))
        return np.asarray(weights.sum(axis=1) * services[k].laplace(s))
