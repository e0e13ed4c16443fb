"""CPUs that a companion works on, of those that trials share: its own while it has work to do."""

from functools import partial

from trimtab.tuning.search.future import Future
from trimtab.tuning.search.side_task import SideTask
from trimtab.tuning.system.pool import Pool, ResourceDemand

_COMPANION = -1  # as a holder in the pool; trials are numbered from 0


class CpuLease:
    """Lends CPUs of `pool` to `companion`, which comes before trials that have not begun."""

    def __init__(self, companion: SideTask, pool: Pool) -> None:
        self._companion, self._pool = companion, pool
        self.work: list[Future[None]] = []  # one, that it has ended, while the companion works

    def is_due(self) -> bool:
        """Lend what the companion wants, if that is free; whether it is to wait for that."""
        wanted = 0 if self.work else self._companion.cpus_wanted
        if not wanted:
            return False
        demand = ResourceDemand(wanted)
        if not self._pool.fits(_COMPANION, demand):
            return True
        cpus = self._pool.take(_COMPANION, demand)
        self.work.append(Future(partial(self._companion.work, cpus)))
        return False

    def close(self) -> None:
        """Hear no more of its work."""
        for work in self.work:
            work.close()

    def end(self) -> None:
        """Have the CPUs back, after the event that the work has ended; raises what that raised."""
        self._pool.give_back(_COMPANION)
        self.work.pop().take()
