"""A device that is not at hand, emulated on this machine: the same program under its limits.

Thesis, section 7.3.4: the inference tuning server simulates edge devices. A process tree is kept on
as many cores as the device has (affinity), in as much memory (tuning.trials.memory_limit), and, for
a slower processor, to a share of the time (tuning.trials.cpu_share, in periods of 5 ms). The mean
time of a batch is then right for a device whose processor is slower by that share; single times
are not: what is shorter than a period runs at full speed or is stopped, so tails are an artefact.
Another architecture is not emulated but scaled: tuning.inference.roofline.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.config.groups.hardware import Hardware
from trimtab.errors import UserError
from trimtab.tuning.trials.settings import SystemSettings

_GIB = 1 << 30


@dataclass(frozen=True)
class InferenceConfiguration:
    """How a model is used: samples in a batch, and what of the device it is given."""

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

    Raises UserError where the configuration has more cores than there are.
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


def speed_at(hardware: Hardware, frequency_mhz: float) -> float:
    """Return a device's speed at a frequency, relative to its highest level, from its `levels`.

    Between two levels it is interpolated. Raises UserError for a device without levels and for a
    frequency that none of them reaches.
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
    return below.speed + share * (above.speed - below.speed)
