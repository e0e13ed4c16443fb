"""What a machine has for trials that run at once: CPUs and GPUs that they take, and memory.

Whoever tunes, and by whatever tuner: a trial takes what its settings say, the next one starts while
enough is free, and between its epochs a trial grows only into what is free. A GPU is one trial's
alone; a trial whose settings name no `gpus` takes none of them, and sees all that there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

_One = TypeVar("_One")  # a CPU or a GPU


@dataclass(frozen=True)
class ResourceDemand:
    """What a trial takes, or what there is; of what its settings do not name it takes none."""

    cores: int
    memory_gib: float = 0.0
    gpus: int = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any], cores: int) -> "ResourceDemand":
        """Return the demand of settings; `cores` are those of a trial that names none."""
        return cls(
            int(settings.get("cores", cores)),
            float(settings.get("memory_gib", 0.0)),
            int(settings.get("gpus", 0)),
        )

    def fits_in(self, room: "ResourceDemand") -> bool:
        """Whether there is as much as this."""
        return (
            self.cores <= room.cores
            and self.memory_gib <= room.memory_gib
            and self.gpus <= room.gpus
        )

    def share_of(self, machine: "ResourceDemand") -> float:
        """Return the largest share that this is of anything the machine has."""
        shares = (self.cores / machine.cores, self.memory_gib / machine.memory_gib)
        return max(*shares, self.gpus / max(1, machine.gpus))


class Pool:
    """CPUs and GPUs by their names, and so much memory; holders are trials by their numbers."""

    def __init__(self, cpus: Sequence[int], memory_gib: float, gpus: Sequence[str] = ()) -> None:
        self.machine = ResourceDemand(len(cpus), memory_gib, len(gpus))
        self._cpus, self._gpus = list(cpus), list(gpus)
        self._taken: dict[int, tuple[int, ...]] = {}
        self._taken_gpus: dict[int, tuple[str, ...]] = {}
        self._memory_gib: dict[int, float] = {}

    @property
    def is_used_up(self) -> bool:
        """Whether no CPU is free."""
        return self.room(None).cores == 0

    def room(self, holder: int | None) -> ResourceDemand:
        """Return what `holder` may have: what is free, and what it has."""
        cores = sum(len(cpus) for other, cpus in self._taken.items() if other != holder)
        memory_gib = sum(gib for other, gib in self._memory_gib.items() if other != holder)
        gpus = sum(len(gpus) for other, gpus in self._taken_gpus.items() if other != holder)
        return ResourceDemand(
            self.machine.cores - cores,
            max(0.0, self.machine.memory_gib - memory_gib),
            self.machine.gpus - gpus,
        )

    def fits(self, holder: int, demand: ResourceDemand) -> bool:
        """Whether `holder` may have so much. Alone it may have whatever it wants."""
        return not self._taken.keys() - {holder} or demand.fits_in(self.room(holder))

    def take(self, holder: int, demand: ResourceDemand) -> tuple[int, ...]:
        """Have `holder`, whom it fits, hold so much and no more; return its CPUs.

        It keeps those that it has, as far as it goes on with as many; GPUs likewise.
        """
        self._taken[holder] = _some(self._cpus, self._taken, holder, demand.cores)
        self._taken_gpus[holder] = _some(self._gpus, self._taken_gpus, holder, demand.gpus)
        self._memory_gib[holder] = demand.memory_gib
        return self._taken[holder]

    def gpus_of(self, holder: int) -> tuple[str, ...]:
        """Return the GPUs that `holder` has."""
        return self._taken_gpus.get(holder, ())

    def give_back_cpus(self, holder: int) -> None:
        """Have `holder` hold no CPUs, but its memory and GPUs: its program is ending."""
        self._taken[holder] = ()

    def give_back(self, holder: int) -> None:
        """Have `holder` hold nothing."""
        self._taken.pop(holder, None)
        self._taken_gpus.pop(holder, None)
        self._memory_gib.pop(holder, None)


def _some(
    every: Sequence[_One], taken: Mapping[int, tuple[_One, ...]], holder: int, count: int
) -> tuple[_One, ...]:
    """Return `count` of what nobody else has taken, first of what `holder` has."""
    own = taken.get(holder, ())
    others = {one for other, held in taken.items() if other != holder for one in held}
    return (*own, *(one for one in every if one not in others and one not in own))[:count]
