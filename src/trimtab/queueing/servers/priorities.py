"""M/M/c with K priorities of one mean service time, the most important class first.

Non-preemptive: while all c servers are busy, the queue is that of one server c times as fast while
it is busy; both forget how long a service has lasted. So a job that waits at all waits as long as
there (Kella and Yechiali, Waiting times in the non-preemptive priority M/M/c queue, Communications
in Statistics. Stochastic Models 1, 1985). The distribution is exact.

Preemptive resume: the k most important classes are an M/M/c queue of their own. Little's law gives
the means of response times; these are exact, and no distribution is known here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from trimtab.queueing.phase_type import PhaseType, exponential
from trimtab.queueing.poisson_priority import Discipline, PriorityResponse
from trimtab.queueing.poisson_priority import response_times as of_one_server
from trimtab.queueing.servers.erlang_c import mean_wait_s, waiting_probability
from trimtab.queueing.taylor import Taylor
from trimtab.queueing.transforms import Points, moments_series


def non_preemptive(rates: Sequence[float], mean_s: float, servers: int) -> list[PriorityResponse]:
    """Return the response time of each class, whose jobs arrive at `rates[k]`, 1/s.

    `mean_s` is the mean service time of all classes. Raises UnstableQueueError for a load of one
    or more, and ModelError for an invalid rate or no server.
    """
    # Of the fast server's jobs, as many wait as it is busy: waits here are its waits, scaled.
    offered = sum(rates) * mean_s
    scale = waiting_probability(offered, servers) / (offered / servers)
    fast, own = exponential(servers / mean_s), exponential(1 / mean_s)
    ones = of_one_server(rates, [fast] * len(rates), Discipline.NON_PREEMPTIVE)
    scaled = [_Scaled(one, fast, own, scale) for one in ones]
    return [PriorityResponse(each.transform, 1 / mean_s, each.parts) for each in scaled]


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The wait of `one`, `scale` times as probable, and the service time `own`."""

    one: PriorityResponse
    fast: PhaseType
    own: PhaseType
    scale: float

    def transform(self, s: Points) -> Points:
        """Return the transform of the response time at points s, (n,)."""
        waiting = self.one.laplace(s) / self.fast.laplace(s)
        return np.asarray((1 - self.scale + self.scale * waiting) * self.own.laplace(s))

    def parts(self, order: int) -> tuple[Taylor, Taylor]:
        """Return the power series of the waiting and of the service time."""
        waiting, _ = self.one.parts(order)
        return self.scale * waiting + (1 - self.scale), moments_series(self.own, order)


def preemptive_resume_means_s(rates: Sequence[float], mean_s: float, servers: int) -> list[float]:
    """Return the mean response time of each class, s; arguments and errors as above."""
    totals = list(accumulate(rates))
    present = [total * (mean_s + mean_wait_s(total, mean_s, servers)) for total in totals]
    more = [last - before for before, last in zip([0.0, *present], present, strict=False)]
    return [number / rate for number, rate in zip(more, rates, strict=True)]
