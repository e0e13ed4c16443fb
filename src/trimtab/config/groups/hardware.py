"""A machine that workloads run on, or a type of node of a cluster: one YAML in `conf/hardware/`."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import (
    InvalidValueError,
    about,
    check_name,
    check_not_blank,
    check_number,
    check_one_of,
)

_COMPUTE_CAPABILITY = re.compile(r"[1-9]\d*\.\d")
_LOADS = 11
ENERGY_SOURCES = ("measured", "modelled")


@dataclass
class FrequencyLevel:
    """A frequency that the cores can run at, and what it is worth."""

    frequency_ghz: float = field(default=MISSING, metadata=about("Of the cores.", unit="GHz"))
    speed: float = field(
        default=MISSING, metadata=about("Relative to the highest level, which has 1.")
    )
    busy_w: float = field(
        default=MISSING, metadata=about("Power of all cores together when busy.", unit="W")
    )
    gpu_busy_w: float | None = field(
        default=None,
        metadata=about("Power of one GPU when busy; left out: the machine's.", unit="W"),
    )

    def __post_init__(self) -> None:
        check_number("frequency_ghz", self.frequency_ghz, above=0)
        check_number("speed", self.speed, above=0)
        if self.speed > 1:
            raise InvalidValueError("speed", self.speed, "at most 1, the highest level's")
        check_number("busy_w", self.busy_w, above=0)
        if self.gpu_busy_w is not None:
            check_number("gpu_busy_w", self.gpu_busy_w, minimum=0)


@dataclass
class Probe:
    """What one run of a probing task took (HEATS; Rocha's thesis, section 3.3.1)."""

    task: str = field(default=MISSING, metadata=about("Name of the probing task."))
    cores: int = field(default=MISSING, metadata=about("Cores that it was given."))
    memory_gib: float = field(
        default=MISSING, metadata=about("Memory that it asked for.", unit="GiB")
    )
    work: float = field(
        default=MISSING, metadata=about("How much it did, in the task's own unit: iterations.")
    )
    wall_s: float = field(default=MISSING, metadata=about("Its run time.", unit="s"))
    energy_j: float = field(
        default=MISSING,
        metadata=about("Its energy, without the idle power of the machine.", unit="J"),
    )
    level: int = field(
        default=0, metadata=about("Number of the frequency level it ran at, 0 the lowest.")
    )
    energy_source: str = field(
        default="modelled", metadata=about("Where the joules come from: `measured`, `modelled`.")
    )

    def __post_init__(self) -> None:
        check_not_blank("task", self.task)
        check_number("cores", self.cores, minimum=1)
        check_number("memory_gib", self.memory_gib, minimum=0)
        check_number("work", self.work, above=0)
        check_number("wall_s", self.wall_s, above=0)
        check_number("energy_j", self.energy_j, minimum=0)
        check_number("level", self.level, minimum=0)
        check_one_of("energy_source", self.energy_source, ENERGY_SOURCES)


@dataclass
class Hardware:
    """The machine and the power model that stands in where it has no energy meter."""

    name: str = field(default=MISSING, metadata=about("Name of the machine: the stem of its file."))
    cores: int = field(
        default=MISSING,
        metadata=about("Cores (of a virtual machine: virtual CPUs) of the machine."),
    )
    idle_w: float = field(
        default=MISSING, metadata=about("Power of all cores together when idle.", unit="W")
    )
    busy_w: float = field(
        default=MISSING, metadata=about("Power of all cores together when busy.", unit="W")
    )
    memory_w_per_gib: float = field(
        default=MISSING, metadata=about("Power of the memory that a run holds.", unit="W/GiB")
    )
    memory_gib: float = field(default=MISSING, metadata=about("Memory of the machine.", unit="GiB"))
    power_source: str = field(default=MISSING, metadata=about("Where the power figures come from."))
    description: str = field(
        default="", metadata=about("What the machine is, for the report.", report_only=True)
    )
    power_relative_error: float = field(
        default=0.0,
        metadata=about("Half the width of the interval of a modelled energy, relative to it."),
    )
    gpus: list[str] = field(
        default_factory=list,
        metadata=about(
            "Compute capabilities of the GPUs that the debloated libraries are for, for example "
            '`["9.0"]`. Empty: those of the machine that the workload was profiled on.'
        ),
    )
    levels: list[FrequencyLevel] = field(
        default_factory=list,
        metadata=about(
            "Frequency levels, slowest first: `frequency_ghz`, `speed` (above 0; the highest "
            "level's is 1), `busy_w` (all cores; the highest level's is the machine's) and, where "
            "there are GPUs, `gpu_busy_w` (one GPU). Empty: one level.",
            schedule_only=True,
        ),
    )
    speed: float = field(
        default=1.0,
        metadata=about(
            "Work that one core does in a second at the highest level, relative to the node that "
            "the trace's service times are of.",
            schedule_only=True,
        ),
    )
    load_curve: list[float] = field(
        default_factory=list,
        metadata=about(
            "Share of the way from idle to busy power at 0, 10, ... 100 % load: 11 numbers from 0 "
            "to 1. Empty: the load itself.",
            schedule_only=True,
        ),
    )
    gpu_count: int = field(default=0, metadata=about("GPUs of the machine.", schedule_only=True))
    gpu_idle_w: float = field(
        default=0.0, metadata=about("Power of one GPU when idle.", unit="W", schedule_only=True)
    )
    gpu_busy_w: float = field(
        default=0.0,
        metadata=about("Power of one GPU when busy, highest level.", unit="W", schedule_only=True),
    )
    network_bytes_per_s: float = field(
        default=125e6,
        metadata=about(
            "What it receives: images, and tasks that migrate to it.",
            unit="B/s",
            schedule_only=True,
        ),
    )
    probes: list[Probe] = field(
        default_factory=list,
        metadata=about(
            "What probing tasks took on it: `task`, `cores`, `memory_gib`, `work`, `wall_s`, "
            "`energy_j` (without idle power), `level`, `energy_source`. `trimtab probe` measures "
            "them.",
            schedule_only=True,
        ),
    )

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_number("cores", self.cores, minimum=1)
        check_number("idle_w", self.idle_w, minimum=0)
        check_number("busy_w", self.busy_w, above=0)
        if self.busy_w < self.idle_w:
            expected = f"at least idle_w ({self.idle_w:g} W)"
            raise InvalidValueError("busy_w", self.busy_w, expected)
        check_number("memory_gib", self.memory_gib, above=0)
        check_number("memory_w_per_gib", self.memory_w_per_gib, minimum=0)
        check_number("power_relative_error", self.power_relative_error, minimum=0)
        if self.power_relative_error >= 1:
            raise InvalidValueError(
                "power_relative_error", self.power_relative_error, "less than 1"
            )
        for position, gpu in enumerate(self.gpus):
            if not _COMPUTE_CAPABILITY.fullmatch(gpu):
                expected = 'a compute capability, major and minor, for example "9.0"'
                raise InvalidValueError(f"gpus[{position}]", gpu, expected)
        self._check_levels()
        self._check_gpus()
        check_number("speed", self.speed, above=0)
        check_number("network_bytes_per_s", self.network_bytes_per_s, above=0)
        _check_load_curve(self.load_curve)
        for position, probe in enumerate(self.probes):
            if probe.cores > self.cores:
                expected = f"at most the machine's {self.cores}"
                raise InvalidValueError(f"probes[{position}].cores", probe.cores, expected)
            if probe.level >= max(1, len(self.levels)):
                expected = f"a level of the machine, 0 to {max(1, len(self.levels)) - 1}"
                raise InvalidValueError(f"probes[{position}].level", probe.level, expected)

    def _check_levels(self) -> None:
        for position, level in enumerate(self.levels):
            key = f"levels[{position}]"
            if level.busy_w < self.idle_w:
                expected = f"at least idle_w ({self.idle_w:g} W)"
                raise InvalidValueError(f"{key}.busy_w", level.busy_w, expected)
            if position == 0:
                continue
            below = self.levels[position - 1]
            if level.speed <= below.speed:
                expected = f"above the level before it ({below.speed:g})"
                raise InvalidValueError(f"{key}.speed", level.speed, expected)
            if level.frequency_ghz < below.frequency_ghz:
                expected = f"at least that of the level before it ({below.frequency_ghz:g} GHz)"
                raise InvalidValueError(f"{key}.frequency_ghz", level.frequency_ghz, expected)
        if not self.levels:
            return
        highest, key = self.levels[-1], f"levels[{len(self.levels) - 1}]"
        if highest.speed != 1:
            raise InvalidValueError(f"{key}.speed", highest.speed, "1, as it is the highest level")
        if not math.isclose(highest.busy_w, self.busy_w):
            expected = f"the machine's busy_w ({self.busy_w:g} W), as it is the highest level"
            raise InvalidValueError(f"{key}.busy_w", highest.busy_w, expected)

    def _check_gpus(self) -> None:
        check_number("gpu_count", self.gpu_count, minimum=0)
        check_number("gpu_idle_w", self.gpu_idle_w, minimum=0)
        check_number("gpu_busy_w", self.gpu_busy_w, minimum=self.gpu_idle_w)
        for position, level in enumerate(self.levels):
            if level.gpu_busy_w is not None and level.gpu_busy_w < self.gpu_idle_w:
                key, expected = f"levels[{position}].gpu_busy_w", "at least gpu_idle_w"
                raise InvalidValueError(key, level.gpu_busy_w, f"{expected} ({self.gpu_idle_w:g})")


def _check_load_curve(curve: Sequence[float]) -> None:
    if not curve:
        return
    if len(curve) != _LOADS:
        raise InvalidValueError("load_curve", list(curve), f"{_LOADS} numbers, or none")
    for position, share in enumerate(curve):
        key = f"load_curve[{position}]"
        check_number(key, share, minimum=curve[position - 1] if position else 0)
    if curve[0] != 0 or curve[-1] != 1:
        raise InvalidValueError("load_curve", list(curve), "0 first and 1 last")
