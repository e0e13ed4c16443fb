"""Processor and memory energy by RAPL, from Linux's /sys/class/powercap.

A domain is a directory with `name`, `energy_uj` (a counter in microjoules, updated about every
millisecond) and `max_energy_range_uj` (where the counter wraps around to 0); see
Documentation/power/powercap/powercap.rst and Intel SDM volume 3, "RAPL interfaces". The packages
(`intel-rapl:0`, name `package-0`) and their memory (`intel-rapl:0:1`, name `dram`) are counted.
Left out are `core` and `uncore`, which are inside the package; `psys`, the whole board, which
includes the packages; and `intel-rapl-mmio:*`, a second view of the same counters.

A package counter counts everything on the package. The part of a run is:

    idle part   = min(E, P_idle * t) * (cores the run may use / cores of the machine)
    active part = (E - min(E, P_idle * t)) * (the run's CPU seconds / the machine's busy seconds)

with the busy seconds of /proc/stat. The interval goes from the active part alone, without any idle
power, to all of E, as if the run had the machine to itself.
"""

from pathlib import Path
from typing import Self

from trimtab.profiling.meters.base import EnergyDomain, EnergySource, IntervalUse, Meter, Share
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.power_model import NO_POWER_MODEL, HardwareModel, idle_share_j

POWERCAP = Path("/sys/class/powercap")
_UJ_PER_J = 1e6


def wrapped_difference_uj(before: int, after: int, max_range_uj: int) -> int:
    """Return the microjoules between two readings; the counter may have wrapped once."""
    return after - before if after >= before else after - before + max_range_uj


class Rapl(Meter):
    """The package and memory counters of a machine, as one running total.

    `domains` names the counted domains. It is empty if the machine has no counters or this user may
    not read them (since Linux 5.10 only root may); then `missing` says why. `hardware` gives the
    idle power.
    """

    name = "rapl"
    source = EnergySource.MEASURED

    def __init__(self, root: Path = POWERCAP, hardware: HardwareModel = NO_POWER_MODEL) -> None:
        self._hardware = hardware
        self.missing = "" if root.is_dir() else f"no {root}"
        self.domains: list[str] = []
        self._counters: list[tuple[Path, int]] = []
        self._last: list[int] = []
        self._total_uj = 0
        for domain in sorted(root.glob("intel-rapl:*")):
            name = (domain / "name").read_text().strip()
            if not name.startswith("package") and name != "dram":
                continue
            counter = domain / "energy_uj"
            try:
                reading = int(counter.read_text())
            except (OSError, ValueError) as error:
                self.missing = f"{counter}: {error}"
                continue
            self.domains.append(name)
            self._last.append(reading)
            max_range_uj = int((domain / "max_energy_range_uj").read_text())
            self._counters.append((counter, max_range_uj))
        kinds = {name.split("-")[0] for name in self.domains}
        self.method = f"rapl {'+'.join(sorted(kinds, reverse=True))}"
        self.detail = f"rapl {'+'.join(sorted(set(self.domains)))}"
        self.parts = frozenset(
            {EnergyDomain.PROCESSORS} | ({EnergyDomain.MEMORY} if "dram" in kinds else set())
        )

    @classmethod
    def find(cls, hardware: HardwareModel, gpus: Gpus | None) -> Self | None:
        """Return the meter if a counter is readable."""
        meter = cls(POWERCAP, hardware)
        return meter if meter.domains else None

    def read_j(self) -> float:
        """Return the joules counted since this object was made.

        Call it at least once per wrap-around of a counter: minutes under full load.
        """
        for index, (counter, max_range_uj) in enumerate(self._counters):
            reading = int(counter.read_text())
            self._total_uj += wrapped_difference_uj(self._last[index], reading, max_range_uj)
            self._last[index] = reading
        return self._total_uj / _UJ_PER_J

    def share(self, counted_j: float, use: IntervalUse) -> Share:
        """Return the run's part, by the formula above."""
        return attribute(
            counted_j,
            self._hardware,
            wall_s=use.wall_s,
            cpu_s=use.cpu_s,
            machine_busy_s=use.machine_busy_s,
            cores_usable=use.cores_usable,
        )


def attribute(
    total_j: float,
    hardware: HardwareModel,
    *,
    wall_s: float,
    cpu_s: float,
    machine_busy_s: float,
    cores_usable: float,
) -> Share:
    """Return the run's part of `total_j`, counted over `wall_s` seconds of the whole machine."""
    machine_idle_j = min(total_j, hardware.idle_w * wall_s)
    share = min(1.0, cpu_s / machine_busy_s) if machine_busy_s > 0 else 0.0
    active_j = (total_j - machine_idle_j) * share
    idle_j = min(machine_idle_j, idle_share_j(hardware, wall_s=wall_s, cores_usable=cores_usable))
    return Share(active_j + idle_j, active_j, total_j, active_j)
