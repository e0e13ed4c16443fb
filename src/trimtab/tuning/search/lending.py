"""CPUs that a companion works on, of those that trials share: its own while it has work to do."""

from functools import partial

from trimtab.tuning.search.answer import Answer
from trimtab.tuning.search.companion import Companion
from trimtab.tuning.system.pool import Demand, Pool

_COMPANION = -1  # as a holder in the pool; trials are numbered from 0


class Lending:
    """Lends CPUs of `pool` to `companion`, which comes before trials that have not begun."""

    def __init__(self, companion: Companion, pool: Pool) -> None:
        self._companion, self._pool = companion, pool
        self.work: list[Answer[None]] = []  # one, that it has ended, while the companion works

    def is_due(self) -> bool:
        """Lend what the companion wants, if that is free; whether it is to wait for that."""
        wanted = 0 if self.work else self._companion.cpus_wanted
        if not wanted:
            return False
        demand = Demand(wanted)
        if not self._pool.fits(_COMPANION, demand):
            return True
        cpus = self._pool.take(_COMPANION, demand)
        self.work.append(Answer(partial(self._companion.work, cpus)))
        return False

    def close(self) -> None:
        """Hear no more of its work."""
        for work in self.work:
            work.close()

    def end(self) -> None:
        """Have the CPUs back, after the event that the work has ended; raises what that raised."""
        self._pool.give_back(_COMPANION)
        self.work.pop().take()
