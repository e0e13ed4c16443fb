"""CPUs of the trials' pool that a side task holds while it has work to do."""

from functools import partial

from trimtab.tuning.search.future import Future
from trimtab.tuning.search.side_task import SideTask
from trimtab.tuning.system.pool import Pool, ResourceDemand

_COMPANION = -1  # holder in the pool; trials are numbered from 0


class CpuLease:
    """Lends CPUs of `pool` to `companion`, a side task with priority over new trials."""

    def __init__(self, companion: SideTask, pool: Pool) -> None:
        self._companion, self._pool = companion, pool
        self.work: list[Future[None]] = []  # the running work: at most one

    def is_due(self) -> bool:
        """Lend the wanted CPUs, if they are free; return whether the side task has to wait."""
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
        """Ignore the end of its work."""
        for work in self.work:
            work.close()

    def end(self) -> None:
        """Take the CPUs back after the work's end; raises what the work raised."""
        self._pool.give_back(_COMPANION)
        self.work.pop().take()
