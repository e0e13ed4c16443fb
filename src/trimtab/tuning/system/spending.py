"""What a trial takes: time, energy, and the counters that a job is known by.

Two things are counted. What the model took that the trial has (`Spent`): its epochs since the first
one, in whichever process, and no others; an objective judges that. And what a rung took (`Taken`):
all that its processes did, with their start and their end, and what was lost, as the epochs of a
program without checkpoints that begins again. Over all rungs that adds up to the search.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from trimtab.files import parse_json, read_limited, write_json
from trimtab.profiling.meters.base import EnergyDomain
from trimtab.profiling.meters.machine import MachineMeters, MeterReadings
from trimtab.tuning.trials.events import EpochEnd

_MOST_BYTES = 1 << 20
# What depends on the machine's state and on who else is there, more than on the job.
_NO_RATES = {
    *("counters_running_share", "cpu_s"),
    *("involuntary_switches", "major_faults", "read_bytes"),
}


@dataclass(frozen=True)
class Spent:
    """What a trial's epochs have taken, and the last one's metrics: kept beside its checkpoint."""

    training_s: float = 0.0
    training_j: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Spent":
        """Return what earlier runs of the trial took."""
        path = folder / "spent.json"
        if not path.is_file():
            return cls()
        found = parse_json(read_limited(path, _MOST_BYTES))
        return cls(float(found["training_s"]), float(found["training_j"]), found["metrics"])

    def and_also(self, wall_s: float, energy_j: float, metrics: Mapping[str, float]) -> "Spent":
        """Return this and an epoch."""
        return Spent(self.training_s + wall_s, self.training_j + energy_j, dict(metrics))

    def write(self, folder: Path) -> None:
        """Keep it."""
        write_json(folder / "spent.json", asdict(self))


@dataclass(frozen=True)
class Taken:
    """What the processes of a trial took on a rung; joules are NaN where they are unknown.

    `work_epochs` are the epochs that ended, each as much as its share of the data.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    energy_j: float = 0.0
    work_epochs: float = 0.0

    def and_also(self, other: "Taken") -> "Taken":
        """Return this and what another process took."""
        return Taken(
            self.wall_s + other.wall_s,
            self.cpu_s + other.cpu_s,
            self.energy_j + other.energy_j,
            self.work_epochs + other.work_epochs,
        )


class SharedMeters:
    """The meters of a machine on which several trials run.

    A board's counter knows no processes: what it counts is divided among the trials that run.
    """

    def __init__(self, meters: MachineMeters) -> None:
        self.meters = meters
        self._last = meters.read()
        self._each_j = [0.0] * len(meters.meters)  # of a trial that ran all the time

    def read(self, trials: int) -> MeterReadings:
        """Return the meters as one of `trials` sees them that ran since they were read last."""
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
        """Return a trial's joules of a time on so many cores; NaN where they are unknown."""
        return self.meters.share(
            before, now, wall_s=wall_s, cpu_s=cpu_s, resident_byte_s=0.0, cores_usable=cores
        ).energy_j


def rates_of(epoch: EpochEnd) -> Mapping[str, float]:
    """Return the counters of an epoch per second of the processor, those that were counted.

    Left out is what says more of the machine than of the job: involuntary switches, and what had to
    be read.
    """
    cpu_s = max(epoch.cpu_s, 1e-3)
    return {
        name: value / cpu_s
        for name, value in epoch.counters.items()
        if name not in _NO_RATES and value == value and value >= 0
    }
