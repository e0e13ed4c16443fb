"""The cost of a trial: time, energy, and the counters that identify a job.

Two costs are counted. `Spent` is the cost of the trial's model, for the objective: its epochs since
the first one, in any process, and nothing else. `Taken` is the cost of a rung: all that its
processes did, with starts, ends and lost work, such as repeated epochs without checkpoints. Over
all rungs it adds up to the search.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trimtab.files import parse_json, read_limited, write_json
from trimtab.profiling.meters.base import EnergyDomain
from trimtab.profiling.meters.machine import MachineMeters, MeterReadings
from trimtab.tuning.trials.events import EpochEnd

_MOST_BYTES = 1 << 20
# Counters that depend on the machine's state and other load more than on the job.
_NO_RATES = {
    *("counters_running_share", "cpu_s"),
    *("involuntary_switches", "major_faults", "read_bytes"),
}


@dataclass(frozen=True)
class Spent:
    """The cost of a trial's epochs, and the last metrics: kept beside its checkpoint."""

    training_s: float = 0.0
    training_j: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Spent":
        """Return the cost of earlier runs of the trial."""
        path = folder / "spent.json"
        if not path.is_file():
            return cls()
        found = parse_json(read_limited(path, _MOST_BYTES))
        return cls(float(found["training_s"]), float(found["training_j"]), found["metrics"])

    def and_also(self, wall_s: float, energy_j: float, metrics: Mapping[str, float]) -> "Spent":
        """Return the sum with an epoch."""
        return Spent(self.training_s + wall_s, self.training_j + energy_j, dict(metrics))

    def write(self, folder: Path) -> None:
        """Write it into the trial's folder."""
        write_json(folder / "spent.json", asdict(self))


@dataclass(frozen=True)
class Taken:
    """The cost of a trial's processes on a rung; joules are NaN where unknown.

    `work_epochs` counts the ended epochs, each weighted by its share of the data.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    energy_j: float = 0.0
    work_epochs: float = 0.0

    def and_also(self, other: "Taken") -> "Taken":
        """Return the sum with another process' cost."""
        return Taken(
            self.wall_s + other.wall_s,
            self.cpu_s + other.cpu_s,
            self.energy_j + other.energy_j,
            self.work_epochs + other.work_epochs,
        )


class SharedMeters:
    """The meters of a machine on which several trials run.

    A board's counter knows no processes: its energy is divided among the running trials.
    """

    def __init__(self, meters: MachineMeters) -> None:
        self.meters = meters
        self._last = meters.read()
        self._each_j = [0.0] * len(meters.meters)  # joules per trial that ran all the time

    def read(self, trials: int) -> MeterReadings:
        """Return the readings of one trial, of `trials` that ran since the last call."""
        now = self.meters.read()
        for at, meter in enumerate(self.meters.meters):
            counted_j = now.counted_j[at] - self._last.counted_j[at]
            divided = max(1, trials) if EnergyDomain.GPUS in meter.parts else 1
            self._each_j[at] += counted_j / divided
        self._last = now
        return MeterReadings(tuple(self._each_j), now.machine_busy_s)

    def energy_j(
        self,
        before: MeterReadings,
        now: MeterReadings,
        *,
        wall_s: float,
        cpu_s: float,
        cores: float,
    ) -> float:
        """Return a trial's joules between two readings, on `cores` cores; NaN where unknown."""
        return self.meters.share(
            before, now, wall_s=wall_s, cpu_s=cpu_s, resident_byte_s=0.0, cores_usable=cores
        ).energy_j


def rates_of(epoch: EpochEnd) -> Mapping[str, float]:
    """Return an epoch's counters per CPU second, if they were counted.

    Counters of the machine rather than the job are left out: involuntary switches and reads from
    disk.
    """
    cpu_s = max(epoch.cpu_s, 1e-3)
    return {
        name: value / cpu_s
        for name, value in epoch.counters.items()
        if name not in _NO_RATES and value == value and value >= 0
    }
