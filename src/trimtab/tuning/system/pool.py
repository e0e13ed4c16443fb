"""The resources of a machine for concurrent trials: CPUs, GPUs and memory.

With any tuner, a trial takes the resources in its settings, and the next one starts while enough is
free. Between epochs a trial grows only into free resources. A GPU belongs to one trial. A trial
whose settings name no `gpus` takes none of them, and sees all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

_One = TypeVar("_One")  # a CPU or a GPU


@dataclass(frozen=True)
class ResourceDemand:
    """The resources of a trial or a machine; a trial takes only those its settings name."""

    cores: int
    memory_gib: float = 0.0
    gpus: int = 0

    @classmethod
    def of(cls, settings: Mapping[str, Any], cores: int) -> "ResourceDemand":
        """Return the demand of settings; `cores` is the default."""
        return cls(
            int(settings.get("cores", cores)),
            float(settings.get("memory_gib", 0.0)),
            int(settings.get("gpus", 0)),
        )

    def fits_in(self, room: "ResourceDemand") -> bool:
        """Whether `room` has enough for this demand."""
        return (
            self.cores <= room.cores
            and self.memory_gib <= room.memory_gib
            and self.gpus <= room.gpus
        )

    def share_of(self, machine: "ResourceDemand") -> float:
        """Return the largest share of any of the machine's resources."""
        shares = (self.cores / machine.cores, self.memory_gib / machine.memory_gib)
        return max(*shares, self.gpus / max(1, machine.gpus))


class Pool:
    """CPUs and GPUs by name, and memory; holders are trials, by number."""

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
        """Return the resources that `holder` may have: the free ones and its own."""
        cores = sum(len(cpus) for other, cpus in self._taken.items() if other != holder)
        memory_gib = sum(gib for other, gib in self._memory_gib.items() if other != holder)
        gpus = sum(len(gpus) for other, gpus in self._taken_gpus.items() if other != holder)
        return ResourceDemand(
            self.machine.cores - cores,
            max(0.0, self.machine.memory_gib - memory_gib),
            self.machine.gpus - gpus,
        )

    def fits(self, holder: int, demand: ResourceDemand) -> bool:
        """Whether `holder` may take `demand`; the only holder may take any amount."""
        return not self._taken.keys() - {holder} or demand.fits_in(self.room(holder))

    def take(self, holder: int, demand: ResourceDemand) -> tuple[int, ...]:
        """Give `holder` exactly `demand`, which fits; return its CPUs.

        It keeps as many of its present CPUs and GPUs as possible.
        """
        self._taken[holder] = _some(self._cpus, self._taken, holder, demand.cores)
        self._taken_gpus[holder] = _some(self._gpus, self._taken_gpus, holder, demand.gpus)
        self._memory_gib[holder] = demand.memory_gib
        return self._taken[holder]

    def gpus_of(self, holder: int) -> tuple[str, ...]:
        """Return the GPUs that `holder` has."""
        return self._taken_gpus.get(holder, ())

    def give_back_cpus(self, holder: int) -> None:
        """Take the CPUs of `holder` back, not its memory and GPUs: its program is ending."""
        self._taken[holder] = ()

    def give_back(self, holder: int) -> None:
        """Take all resources of `holder` back."""
        self._taken.pop(holder, None)
        self._taken_gpus.pop(holder, None)
        self._memory_gib.pop(holder, None)


def _some(
    every: Sequence[_One], taken: Mapping[int, tuple[_One, ...]], holder: int, count: int
) -> tuple[_One, ...]:
    """Return `count` items that no other holder has, first those of `holder`."""
    own = taken.get(holder, ())
    others = {one for other, held in taken.items() if other != holder for one in held}
    return (*own, *(one for one in every if one not in others and one not in own))[:count]
