"""A machine that workloads run on, or a type of node of a cluster: one YAML in `conf/hardware/`."""

import math
import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    Name,
    NotNegative,
    Parts,
    Positive,
    SomeParts,
    Text,
    about,
    satisfying,
)

_LOADS = 11
ComputeCapability = Annotated[
    str,
    satisfying(
        re.compile(r"[1-9]\d*\.\d").fullmatch,
        'a compute capability, major and minor, for example "9.0"',
    ),
]


EnergySource = StrEnum("EnergySource", "MEASURED MODELLED")


@dataclass(config=CHECKED)
class FrequencyLevel:
    """A frequency that the cores can run at, and what it is worth."""

    frequency_ghz: Positive = about("Frequency of the cores.", unit="GHz")
    speed: Annotated[Positive, Field(le=1)] = about("Relative to the highest level (1).")
    busy_w: Positive = about("Power of all busy cores.", unit="W")
    gpu_busy_w: NotNegative | None = about(
        "Power of a busy GPU; by default the machine's.", default=None, unit="W"
    )


@dataclass(config=CHECKED)
class Probe:
    """What one run of a probing task took (HEATS; Rocha's thesis, section 3.3.1)."""

    task: Text = about("Name of the probing task.")
    cores: SomeParts = about("Its cores.")
    memory_gib: NotNegative = about("Memory that it asked for.", unit="GiB")
    work: Positive = about("Iterations done.")
    wall_s: Positive = about("Run time.", unit="s")
    energy_j: NotNegative = about("Energy, without idle power.", unit="J")
    level: Parts = about("Frequency level, 0 the lowest.", default=0)
    energy_source: EnergySource = about("Source of the energy.", default=EnergySource.MODELLED)


@dataclass(config=CHECKED)
class Roofline:
    """What a number of its cores reach together: the roofline of a machine."""

    cores: SomeParts = about("Busy cores.")
    gflop_per_s: Positive = about("Of a large matrix product in float32.", unit="GFLOP/s")
    gb_per_s: Positive = about("Read and written by a triad that fits no cache.", unit="GB/s")
    call_us: Positive = about("Time of an operation on one number.", unit="us")


@dataclass(config=CHECKED)
class ModelTime:
    """What a batch of a model took on it, by which the scale of its roofline is corrected."""

    workload: Name = about("The workload in `conf/workload/` that uses the model.")
    batch_size: SomeParts = about("Samples in a batch.")
    cores: SomeParts = about("Busy cores.")
    batch_s: Positive = about("Mean time of a batch.", unit="s")


@dataclass(config=CHECKED)
class Hardware:
    """The machine and the power model that stands in where it has no energy meter."""

    name: Name = about("The file's stem.")
    cores: SomeParts = about("Cores, or virtual CPUs.")
    idle_w: NotNegative = about("Power of all idle cores.", unit="W")
    busy_w: Positive = about("Power of all busy cores.", unit="W")
    memory_w_per_gib: NotNegative = about("Power of memory that a run holds.", unit="W/GiB")
    memory_gib: Positive = about("Memory.", unit="GiB")
    power_source: str = about("Source of the power figures.")
    description: str = about("For the report.", default="", report_only=True)
    power_relative_error: Annotated[NotNegative, Field(lt=1)] = about(
        "Half the interval of a modelled energy, relative to it.", default=0.0
    )
    gpus: list[ComputeCapability] = about(
        'Compute capabilities to debloat for, as `["9.0"]`; by default those of the profiled '
        "machine.",
        factory=list,
    )
    levels: list[FrequencyLevel] = about(
        "Frequency levels, slowest first; empty: one level.",
        factory=list,
        schedule_only=True,
    )
    speed: Positive = about(
        "Speed of one core at the highest level, relative to the node of the trace's service "
        "times.",
        default=1.0,
        schedule_only=True,
    )
    load_curve: list[NotNegative] = about(
        "Share of the way from idle to busy power at 0, 10, ... 100 % load: 11 numbers from 0 to "
        "1; by default linear.",
        factory=list,
        schedule_only=True,
    )
    gpu_count: Annotated[Parts, Field(le=63)] = about("GPUs.", default=0, schedule_only=True)
    gpu_slices: Annotated[SomeParts, Field(le=1000)] = about(
        "Equal slices of each GPU, to which jobs' shares are rounded up: 7 with NVIDIA's "
        "Multi-Instance GPU on an H100 (MIG User Guide, GPU Instance Profiles); by default "
        "thousandths.",
        default=1000,
        schedule_only=True,
    )
    gpu_idle_w: NotNegative = about(
        "Power of an idle GPU.", default=0.0, unit="W", schedule_only=True
    )
    gpu_busy_w: NotNegative = about(
        "Power of a busy GPU at the highest level.", default=0.0, unit="W", schedule_only=True
    )
    network_bytes_per_s: Positive = about(
        "Rate of received images and migrating tasks.",
        default=125e6,
        unit="B/s",
        schedule_only=True,
    )
    enclave: Name | None = about(
        "The file in `conf/enclave/` that protects its jobs. Without it `secure` jobs never run "
        "here.",
        default=None,
        schedule_only=True,
    )
    rooflines: list[Roofline] = about(
        "Speeds of its cores, to scale inference between machines; `trimtab advanced probe` "
        "measures them.",
        factory=list,
        tuning_only=True,
    )
    models: list[ModelTime] = about(
        "Times of models, which correct that scale; `trimtab advanced probe` measures them.",
        factory=list,
        tuning_only=True,
    )
    probes: list[Probe] = about(
        "Time and energy of probing tasks; `trimtab advanced probe` measures them.",
        factory=list,
        schedule_only=True,
    )

    @model_validator(mode="after")
    def _power_and_parts_fit(self) -> Self:
        _at_least("busy_w", self.busy_w, self.idle_w, "idle_w", "W")
        _at_least("gpu_busy_w", self.gpu_busy_w, self.gpu_idle_w, "gpu_idle_w", "W")
        self._check_levels()
        _check_load_curve(self.load_curve)
        for position, roofline in enumerate(self.rooflines):
            if roofline.cores > self.cores:
                expected = f"at most the machine's {self.cores}"
                raise InvalidValueError(f"rooflines[{position}].cores", roofline.cores, expected)
        for position, model in enumerate(self.models):
            if model.cores > self.cores:
                expected = f"at most the machine's {self.cores}"
                raise InvalidValueError(f"models[{position}].cores", model.cores, expected)
        levels = max(1, len(self.levels))
        for position, probe in enumerate(self.probes):
            if probe.cores > self.cores:
                expected = f"at most the machine's {self.cores}"
                raise InvalidValueError(f"probes[{position}].cores", probe.cores, expected)
            if probe.level >= levels:
                expected = f"a level of the machine, 0 to {levels - 1}"
                raise InvalidValueError(f"probes[{position}].level", probe.level, expected)
        return self

    def _check_levels(self) -> None:
        for position, level in enumerate(self.levels):
            key = f"levels[{position}]"
            _at_least(f"{key}.busy_w", level.busy_w, self.idle_w, "idle_w", "W")
            if level.gpu_busy_w is not None:
                _at_least(f"{key}.gpu_busy_w", level.gpu_busy_w, self.gpu_idle_w, "gpu_idle_w", "W")
            if position == 0:
                continue
            below = self.levels[position - 1]
            if level.speed <= below.speed:
                expected = f"above the level before it ({below.speed:g})"
                raise InvalidValueError(f"{key}.speed", level.speed, expected)
            before = "that of the level before it"
            _at_least(
                f"{key}.frequency_ghz", level.frequency_ghz, below.frequency_ghz, before, "GHz"
            )
        if not self.levels:
            return
        highest, key = self.levels[-1], f"levels[{len(self.levels) - 1}]"
        if highest.speed != 1:
            raise InvalidValueError(f"{key}.speed", highest.speed, "1, as it is the highest level")
        if not math.isclose(highest.busy_w, self.busy_w):
            expected = f"the machine's busy_w ({self.busy_w:g} W), as it is the highest level"
            raise InvalidValueError(f"{key}.busy_w", highest.busy_w, expected)


def _at_least(key: str, given: float, minimum: float, name: str, unit: str) -> None:
    if given < minimum:
        raise InvalidValueError(key, given, f"at least {name} ({minimum:g} {unit})")


def _check_load_curve(curve: list[float]) -> None:
    if not curve:
        return
    if len(curve) != _LOADS:
        raise InvalidValueError("load_curve", curve, f"{_LOADS} numbers, or none")
    for position in range(1, _LOADS):
        before = curve[position - 1]
        if curve[position] < before:
            expected = f"a number of at least {before:g}"
            raise InvalidValueError(f"load_curve[{position}]", curve[position], expected)
    if curve[0] != 0 or curve[-1] != 1:
        raise InvalidValueError("load_curve", curve, "0 first and 1 last")
