"""The cost of inference under one configuration: batches of a real program, timed under limits.

Thesis, section 7.3.4: the inference tuning server runs the model, with any weights, for each batch
size and set of system parameters. The program is a workload that reports its batches by
`trimtab_trial.batches`, or by a group `batch_s` of its `marks.epoch`.
"""

import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.config.fields import Scalar
from trimtab.config.groups.workload import Workload
from trimtab.profiling.meters.base import EnergySource
from trimtab.profiling.meters.energy import RunEnergy
from trimtab.profiling.meters.machine import MachineMeters, machine_meters
from trimtab.profiling.meters.power_model import HardwareModel, modelled_energy_j
from trimtab.tuning.inference.emulation import InferenceConfiguration, settings_of
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.trials.events import EndReason, EpochEnd, Event, TrialEnded
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.protocol import BrokenProtocolError
from trimtab.tuning.trials.settings import SystemSettings

_WARM_UP_S = 0.25  # at least, and at least one round
_MEASURED_S = 0.75
_FEWEST_BATCHES = 3
TIMEOUT_S = 120.0  # of a configuration, its program's start included
_LOOK_S = 0.2  # between checks whether to stop
_TIME = re.compile(r"batch_\d+_s")


@dataclass(frozen=True)
class Served:
    """The cost of inference on this machine under a configuration's limits.

    `inference_s` is the mean time per sample over all batches after the warm-up. `batch_s` are the
    times of these batches, or an evenly spaced sample of them. `inference_j` is the energy per
    sample; `energy_kind` is one of profiling's EnergySource: measured, modelled or unknown.
    `not_set` says why a limit is not in effect.
    """

    inference_s: float
    batch_s: tuple[float, ...]
    inference_j: float
    energy_kind: str
    peak_rss_bytes: int
    not_set: Mapping[str, str] = field(default_factory=dict)

    def times(self, factor: float) -> "Served":
        """Return the cost on a device of equal power that takes `factor` times as long."""
        return replace(
            self,
            inference_s=self.inference_s * factor,
            batch_s=tuple(time_s * factor for time_s in self.batch_s),
            inference_j=self.inference_j * factor,
        )


def served(
    workload: Workload,
    parameters: Mapping[str, Scalar],
    configuration: InferenceConfiguration,
    hardware: HardwareModel,
    folder: Path,
    *,
    cpus: Sequence[int] | None = None,
    cpu_share: float = 1.0,
    is_this_machine: bool = True,
    timeout_s: float = TIMEOUT_S,
    stopped: threading.Event | None = None,
    on_end: Callable[[TrialEnded], None] = lambda ended: None,
) -> Served | Failure:
    """Run `workload`, with `parameters` of the model, until enough batches are timed.

    The program gets the first of `cpus`, by default those of this process, for `cpu_share` of the
    time once it is warm. It has priority over other work where a control group can be made. Energy
    is measured where `hardware` is this machine and has meters; else its model applies. Files lie
    in `folder`. A Failure says why there is no result: out of memory, the time limit, a crash, no
    batch reported. Setting `stopped` kills the program. `on_end` is called with its end, also for a
    Failure. Raises UserError where the program cannot be started, or this machine has too few
    resources.
    """
    settings = settings_of(configuration, cpus=cpus)
    meters = machine_meters(hardware) if is_this_machine else None
    given = {**parameters, "batch_size": configuration.batch_size}
    rounds, broken = InferenceRounds(), ""
    with TrialProcess.start(workload, given, folder, settings, timeout_s=timeout_s) as process:
        energy = _Energy(hardware, meters, cpu_share)
        while isinstance(event := _next(process, stopped), EpochEnd):
            try:
                counted = rounds.add(event)
            except BrokenProtocolError as error:
                broken = f"{EndReason.BROKEN_PROTOCOL}: {error}"
                process.kill()
                continue
            energy.add(event, counted)
            if rounds.enough:
                process.stop()
            elif rounds.is_warm and not counted:  # its start runs at full speed
                process.answer(SystemSettings(cpu_share=cpu_share))
            elif event.waits:
                process.answer(SystemSettings())
    on_end(event)
    if stopped is not None and stopped.is_set():
        return Failure("was stopped with its search")
    if broken:
        return Failure(broken)
    if event.reason.is_failure:
        return Failure(event.failure)
    if not rounds.batch_s:
        return Failure(
            "reported no batch after its first ones: it has to call trimtab_trial.batches, or its "
            "workload's marks.epoch to capture batch_s"
        )
    return Served(
        inference_s=rounds.mean_s / configuration.batch_size,
        batch_s=tuple(rounds.batch_s),
        inference_j=energy.per_s(event.peak_rss_bytes) * rounds.mean_s / configuration.batch_size,
        energy_kind=str(energy.kind),
        peak_rss_bytes=event.peak_rss_bytes,
        not_set={
            name: why
            for name, why in rounds.not_set.items()
            if name != "cpu_share" or cpu_share < 1
        },
    )


def _next(process: TrialProcess, stopped: threading.Event | None) -> Event:
    """Return the next event: the program's end once `stopped` is set."""
    while (event := process.next_event(None if stopped is None else _LOOK_S)) is None:
        if stopped is not None and stopped.is_set():
            process.kill()
    return event


class InferenceRounds:
    """The reported batches after the warm-up."""

    def __init__(self) -> None:
        self.batch_s: list[float] = []
        self.batches, self.served_s = 0, 0.0
        self.not_set: Mapping[str, str] = {}
        self._warm_s = 0.0

    @property
    def mean_s(self) -> float:
        """The mean time of a batch."""
        return self.served_s / self.batches

    @property
    def is_warm(self) -> bool:
        """Whether the warm-up is over."""
        return self._warm_s >= _WARM_UP_S

    @property
    def enough(self) -> bool:
        """Whether enough batches have been timed."""
        return self.served_s >= _MEASURED_S and self.batches >= _FEWEST_BATCHES

    def add(self, event: EpochEnd) -> bool:
        """Add a round; return whether it counts. Raises BrokenProtocolError for an invalid one."""
        batches, served_s, times = batches_of(event.metrics)
        if not self.is_warm:
            self._warm_s += served_s
            return False
        self.batches += batches
        self.served_s += served_s
        self.batch_s += times
        self.not_set = event.not_set
        return True


class _Energy:
    """The power of inference, by the machine's meters or a model of the device.

    The device does nothing else, so all of its idle power counts. Time stopped under a CPU share
    counts as busy, as a slower processor would be.
    """

    def __init__(
        self, hardware: HardwareModel, meters: MachineMeters | None, cpu_share: float
    ) -> None:
        self._hardware, self._cpu_share = hardware, cpu_share
        self._run = None
        self.kind = EnergySource.MODELLED if hardware.known else EnergySource.UNKNOWN
        if meters is not None and meters.source is EnergySource.MEASURED:
            self._run, self.kind = RunEnergy(meters), meters.source
        self._all = [0.0, 0.0, 0.0]  # wall_s, cpu_s and joules since the start
        self._counted = [0.0, 0.0, 0.0]

    def add(self, event: EpochEnd, counted: bool) -> None:
        """Add a round; those of the warm-up are not `counted`."""
        wall_s, cpu_s, joules = self._all[0] + event.wall_s, self._all[1] + event.cpu_s, 0.0
        if self._run is not None:
            joules = self._run.read(wall_s=wall_s, cpu_s=cpu_s, resident_byte_s=0.0)["energy_j"]
        now = [wall_s, cpu_s, joules]
        if counted:
            self._counted = [
                total + after - before
                for total, after, before in zip(self._counted, now, self._all, strict=True)
            ]
        self._all = now

    def per_s(self, resident_bytes: int) -> float:
        """Return the power in W; NaN where unknown, as when all rounds were reported at once."""
        wall_s, cpu_s, joules = self._counted
        if not wall_s:
            return math.nan
        if self._run is not None:
            return joules / wall_s
        if not self._hardware.known:
            return math.nan
        return modelled_energy_j(
            self._hardware,
            wall_s=1.0,
            cpu_s=cpu_s / wall_s / self._cpu_share,
            resident_byte_s=resident_bytes,
            cores_usable=self._hardware.cores,
        )


def batches_of(metrics: Mapping[str, float]) -> tuple[int, float, list[float]]:
    """Return the number of batches of a round, their total time and the known times, in s."""
    if "batches" in metrics and "served_s" in metrics:
        times = [value for name, value in metrics.items() if _TIME.fullmatch(name)]
        batches, served_s = metrics["batches"], metrics["served_s"]
    elif "batch_s" in metrics:
        batches, served_s, times = 1, metrics["batch_s"], [metrics["batch_s"]]
    else:
        raise BrokenProtocolError(
            "it reported an epoch that is no batch: call trimtab_trial.batches, or have "
            "marks.epoch capture batch_s"
        )
    if batches < 1 or batches != int(batches) or not times or min(served_s, *times) <= 0:
        raise BrokenProtocolError(f"{batches:g} batches in {served_s:g} s: expected times above 0")
    return int(batches), served_s, times
