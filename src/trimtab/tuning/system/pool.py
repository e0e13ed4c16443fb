"""What a machine has for trials that run at once: CPUs that they take, memory that they may use.

Whoever tunes, and by whatever tuner: a trial takes what its settings say, the next one starts while
enough is free, and between its epochs a trial grows only into what is free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Demand:
    """What a trial takes, or what there is; `memory_gib` is 0 where its settings do not say."""

    cores: int
    memory_gib: float = 0.0

    @classmethod
    def of(cls, settings: Mapping[str, Any], cores: int) -> "Demand":
        """Return the demand of settings; `cores` are those of a trial that names none."""
        return cls(int(settings.get("cores", cores)), float(settings.get("memory_gib", 0.0)))

    def fits_in(self, room: "Demand") -> bool:
        """Whether there is as much as this."""
        return self.cores <= room.cores and self.memory_gib <= room.memory_gib

    def share_of(self, machine: "Demand") -> float:
        """Return the largest share that this is of anything the machine has."""
        return max(self.cores / machine.cores, self.memory_gib / machine.memory_gib)


class Pool:
    """The CPUs with these numbers, and so much memory; holders are trials by their numbers."""

    def __init__(self, cpus: Sequence[int], memory_gib: float) -> None:
        self.machine = Demand(len(cpus), memory_gib)
        self._cpus = list(cpus)
        self._taken: dict[int, tuple[int, ...]] = {}
        self._memory_gib: dict[int, float] = {}

    @property
    def is_used_up(self) -> bool:
        """Whether no CPU is free."""
        return self.room(None).cores == 0

    def room(self, holder: int | None) -> Demand:
        """Return what `holder` may have: what is free, and what it has."""
        cores = sum(len(cpus) for other, cpus in self._taken.items() if other != holder)
        memory_gib = sum(gib for other, gib in self._memory_gib.items() if other != holder)
        return Demand(self.machine.cores - cores, max(0.0, self.machine.memory_gib - memory_gib))

    def fits(self, holder: int, demand: Demand) -> bool:
        """Whether `holder` may have so much. Alone it may have whatever it wants."""
        return not self._taken.keys() - {holder} or demand.fits_in(self.room(holder))

    def take(self, holder: int, demand: Demand) -> tuple[int, ...]:
        """Have `holder`, whom it fits, hold so much and no more; return its CPUs.

        It keeps those that it has, as far as it goes on with as many.
        """
        own = self._taken.get(holder, ())
        others = {cpu for other, cpus in self._taken.items() if other != holder for cpu in cpus}
        free = [cpu for cpu in self._cpus if cpu not in others and cpu not in own]
        self._taken[holder] = (*own, *free)[: demand.cores]
        self._memory_gib[holder] = demand.memory_gib
        return self._taken[holder]

    def give_back(self, holder: int) -> None:
        """Have `holder` hold nothing."""
        self._taken.pop(holder, None)
        self._memory_gib.pop(holder, None)
