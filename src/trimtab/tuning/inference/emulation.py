"""Emulation of a device on this machine: the same program under the device's limits.

Thesis, section 7.3.4: the inference tuning server simulates edge devices. The process tree gets the
device's number of cores (affinity) and memory (processes.memory_limit). For a slower processor
it runs for a share of the time (processes.cpu_share, in turns of 5 ms). This gives the right
mean time of a batch, but not the right single times: anything shorter than a turn runs at full
speed or is stopped. Tails are therefore an artefact.

The rooflines of both machines say how much slower a device is (tuning.inference.roofline). A share
of at least a quarter is real execution; a factor accounts for the rest, and for faster devices.
With a smaller share, a program would only wait.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.config.groups.hardware import FrequencyLevel, Hardware, Roofline
from trimtab.errors import UserError
from trimtab.execution.rooflines import rooflines
from trimtab.files import read_json, write_once
from trimtab.locks import file_lock, lock_of
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.profile import model_of
from trimtab.tuning.inference.roofline import Scale, scale
from trimtab.tuning.trials.settings import SystemSettings

_GIB = 1 << 30
_PATIENCE_S = 1800.0  # measuring takes seconds per number of cores
_LEAST_SHARE = 0.25  # of the time: the least that benchmarks/tuning/inference_error.py has measured


@dataclass(frozen=True)
class InferenceConfiguration:
    """An inference set-up: samples in a batch, and the resources of the device."""

    batch_size: int
    cores: int
    memory_gib: float | None = None
    frequency_mhz: float | None = None


def settings_of(
    configuration: InferenceConfiguration,
    *,
    cpus: Sequence[int] | None = None,
    cpu_share: float = 1.0,
) -> SystemSettings:
    """Return the settings of a trial on the first of `cpus`, by default this process' own.

    Raises UserError where the configuration has more cores than these.
    """
    allowed = sorted(os.sched_getaffinity(0)) if cpus is None else cpus
    if not 1 <= configuration.cores <= len(allowed):
        raise UserError(
            f"inference.cores: {configuration.cores}: this machine has {len(allowed)} for it; "
            "name as many at most, or have a device with more estimated"
        )
    memory_gib = configuration.memory_gib
    return SystemSettings(
        cpus=tuple(allowed[: configuration.cores]),
        threads=configuration.cores,
        memory_bytes=None if memory_gib is None else round(memory_gib * _GIB),
        frequency_mhz=configuration.frequency_mhz,
        cpu_share=cpu_share,
    )


@dataclass(frozen=True)
class Emulation:
    """How a host emulates one configuration of a device.

    A batch takes `scale.slower` times as long as at the host's full speed. The program runs for
    `cpu_share` of the time, and measured times are multiplied by `factor`. `power` is the device's,
    at the configuration's frequency.
    """

    configuration: InferenceConfiguration
    cpu_share: float
    factor: float
    scale: Scale
    power: HardwareModel


@dataclass(frozen=True)
class Device:
    """A machine for inference, and the `host` that emulates it."""

    hardware: Hardware
    host: Hardware

    def emulation(self, configuration: InferenceConfiguration) -> Emulation:
        """Return the emulation of a configuration of the device.

        Raises UserError for too many cores, for a frequency outside its levels, and where one of
        the machines has no rooflines.
        """
        device, cores, mhz = self.hardware, configuration.cores, configuration.frequency_mhz
        if cores > device.cores:
            raise UserError(f"inference.cores: {cores}: {device.name} has {device.cores}")
        scaled = scale(self.host, device, cores)
        power = model_of(device)
        if mhz is not None:
            level = level_at(device, mhz)
            scaled = scaled.times(1 / level.speed)
            power = replace(power, busy_w=level.busy_w)
        share = min(1.0, max(_LEAST_SHARE, 1 / scaled.slower))
        memory_gib = min(configuration.memory_gib or device.memory_gib, device.memory_gib)
        limits = replace(configuration, memory_gib=memory_gib, frequency_mhz=None)
        return Emulation(limits, share, scaled.slower * share, scaled, power)

    def with_host_measured(self, kept: Path, cpus: Sequence[int]) -> "Device":
        """Return the device with rooflines of the host: its YAML's, else measured on `cpus`.

        The file `kept` holds the measured ones, for resumed searches and for machines that share a
        search. One process measures at a time. Raises UserError where another one does not end.
        """
        if self.host.rooflines:
            return self
        said = f"{kept}: another measures this host"
        with file_lock(lock_of(kept), said, _PATIENCE_S, stays=True):
            if not kept.exists():
                write_once(kept, json.dumps(rooflines(cpus)))
        measured = [Roofline(**one) for one in read_json(kept)]
        return replace(self, host=replace(self.host, rooflines=measured))


def device_of(hardware: Hardware | None, host: Hardware) -> Device | None:
    """Return the device to emulate, or None where it is the host itself."""
    if hardware is None or hardware.name == host.name:
        return None
    return Device(hardware, host)


def level_at(hardware: Hardware, frequency_mhz: float) -> FrequencyLevel:
    """Return speed and power at a frequency, interpolated between a device's `levels`.

    Raises UserError for a device without levels and for a frequency outside them.
    """
    levels = hardware.levels
    ghz = frequency_mhz / 1000
    if not levels or not levels[0].frequency_ghz <= ghz <= levels[-1].frequency_ghz:
        ends = f"{levels[0].frequency_ghz:g} to {levels[-1].frequency_ghz:g}" if levels else "none"
        raise UserError(
            f"hardware {hardware.name}: levels: {ends} GHz: none of {ghz:g} GHz; name a frequency "
            "between them"
        )
    below = [level for level in levels if level.frequency_ghz <= ghz][-1]
    above = next(level for level in levels if level.frequency_ghz >= ghz)
    width = above.frequency_ghz - below.frequency_ghz
    share = (ghz - below.frequency_ghz) / width if width else 0.0
    return FrequencyLevel(
        frequency_ghz=ghz,
        speed=below.speed + share * (above.speed - below.speed),
        busy_w=below.busy_w + share * (above.busy_w - below.busy_w),
    )
