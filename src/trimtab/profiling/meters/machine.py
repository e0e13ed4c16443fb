"""The meters of this machine, and a run's share of their counts.

The best meter found covers each part of the machine: a counter before a model, a model before
nothing. The sum is as reliable as its least reliable part.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.plugins import modules_in
from trimtab.profiling import meters
from trimtab.profiling.meters.base import EnergyDomain, EnergySource, IntervalUse, Meter, Share
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.power_model import HardwareModel

_RANK = {source: rank for rank, source in enumerate(EnergySource)}


@dataclass(frozen=True, slots=True)
class MeterReadings:
    """The counts of all meters at one moment, in their order."""

    counted_j: tuple[float, ...]
    machine_busy_s: float


class MachineMeters:
    """Meters that together cover a machine, each part once.

    `method` names them, such as "rapl package+dram, nvml"; `detail` names the exact counters.
    """

    def __init__(self, meters: Sequence[Meter]) -> None:
        self.meters = meters
        self.source = max((meter.source for meter in meters), key=_RANK.__getitem__)
        self.method = ", ".join(meter.method for meter in meters)
        self.detail = ", ".join(meter.detail for meter in meters)
        self._cores_usable = len(os.sched_getaffinity(0))

    def read(self) -> MeterReadings:
        """Read every meter."""
        return MeterReadings(tuple(meter.read_j() for meter in self.meters), machine_busy_s())

    def share(
        self,
        before: MeterReadings,
        after: MeterReadings,
        *,
        wall_s: float,
        cpu_s: float,
        resident_byte_s: float,
        cores_usable: float | None = None,
    ) -> Share:
        """Return a run's share of the energy between two readings; the rest describes its use.

        The default of `cores_usable` is the cores that this process may use.
        """
        machine_busy_s = after.machine_busy_s - before.machine_busy_s
        cores = self._cores_usable if cores_usable is None else cores_usable
        use = IntervalUse(wall_s, cpu_s, resident_byte_s, machine_busy_s, cores)
        shares = [
            meter.share(now_j - then_j, use)
            for meter, then_j, now_j in zip(
                self.meters, before.counted_j, after.counted_j, strict=True
            )
        ]
        return Share(
            sum(share.energy_j for share in shares),
            sum(share.low_j for share in shares),
            sum(share.high_j for share in shares),
            sum(share.active_j for share in shares),
        )

    def counted_j(self, readings: MeterReadings) -> dict[str, float]:
        """Return the count of each meter, as `NAME_j`."""
        return {
            f"{meter.name}_j": joules
            for meter, joules in zip(self.meters, readings.counted_j, strict=True)
        }

    def edge_j(self, counted_j: Mapping[str, float], duration_s: float) -> float:
        """Return the joules at each end of a window that may belong to the neighbouring window.

        This is the energy of one step of each counter, at its mean power in the window.
        """
        if duration_s <= 0:
            return 0.0
        return sum(
            counted_j[f"{meter.name}_j"] / duration_s * meter.update_period_s
            for meter in self.meters
        )


def machine_meters(hardware: HardwareModel, gpus: Gpus | None = None) -> MachineMeters:
    """Return the best meters of this machine; without `gpus` GPUs are left out.

    All meter classes in modules of this package are tried. The processors' meter is chosen first,
    so that their energy is never missing; the others are added if they count nothing twice.
    """
    list(modules_in(meters.__name__, meters.__path__))
    asked = (kind.find(hardware, gpus) for kind in Meter.__subclasses__())
    found = [meter for meter in asked if meter is not None]
    by_part: dict[EnergyDomain, Meter] = {}
    for meter in sorted(
        found, key=lambda m: (EnergyDomain.PROCESSORS not in m.parts, _RANK[m.source], m.name)
    ):
        if by_part.keys().isdisjoint(meter.parts):
            by_part |= dict.fromkeys(meter.parts, meter)
    return MachineMeters(
        list(dict.fromkeys(by_part[part] for part in EnergyDomain if part in by_part))
    )


def parse_busy_s(proc_stat: str) -> float:
    """Return the busy seconds of all CPUs since the machine started, from /proc/stat's text.

    User, nice, system, interrupts; not idle, waiting for storage, nor stolen by other guests; guest
    time is inside user time (proc_stat(5)).
    """
    all_cpus = proc_stat.split("\n")[0].split()
    user, nice, system, _idle, _iowait, irq, softirq = map(int, all_cpus[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def machine_busy_s() -> float:
    """Return the busy seconds of all CPUs of this machine since it started."""
    return parse_busy_s(Path("/proc/stat").read_text())
