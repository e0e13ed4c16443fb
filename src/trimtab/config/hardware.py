"""A machine that workloads run on: one YAML in `conf/hardware/`."""

import re
from dataclasses import dataclass, field

from omegaconf import MISSING

from trimtab.config.fields import InvalidValueError, about, check_name, check_number

_COMPUTE_CAPABILITY = re.compile(r"[1-9]\d*\.\d")


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
