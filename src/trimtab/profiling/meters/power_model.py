"""The modelled energy of a run, for machines without a readable meter.

    E =   P_idle * t * (cores the run may use / cores of the machine)
        + (P_busy - P_idle) / cores * CPU seconds of the run
        + W/GiB * integral of the memory the run holds, over time

The dynamic part follows the run's own CPU seconds, so the run is not charged for neighbours on a
virtual machine. Memory is charged by the run's resident memory, not as a fixed power, so a run with
less memory costs less. The model ignores frequency scaling and the mix of instructions:
`power_relative_error` states its error, the half-width of the interval around each modelled joule.
"""

from dataclasses import dataclass

from trimtab.errors import UserError

_GIB = 1 << 30


@dataclass(frozen=True)
class HardwareModel:
    """The power of a machine, from a hardware YAML; `source` is the origin of the figures.

    `idle_w` and `busy_w` are the power of all processors together, without memory modules and GPUs,
    with every core idle or busy. `cores` counts the operating system's CPUs; `memory_gib` is the
    machine's memory. `power_relative_error` is a share, 0.3 for +-30 %.
    """

    name: str
    cores: int
    idle_w: float
    busy_w: float
    memory_w_per_gib: float
    memory_gib: float
    power_relative_error: float
    source: str

    def __post_init__(self) -> None:
        rules = {
            "cores": (self.cores >= 1, "at least 1"),
            "idle_w": (self.idle_w >= 0, "at least 0 W"),
            "busy_w": (self.busy_w >= self.idle_w, f"at least idle_w, {self.idle_w} W"),
            "memory_w_per_gib": (self.memory_w_per_gib >= 0, "at least 0 W/GiB"),
            "memory_gib": (self.memory_gib > 0, "above 0 GiB"),
            "power_relative_error": (0 <= self.power_relative_error <= 1, "from 0 to 1"),
        }
        for key, (holds, expected) in rules.items():
            if not holds:
                value = getattr(self, key)
                raise UserError(f"hardware {self.name}: {key}: {value} is not {expected}")

    @property
    def known(self) -> bool:
        """Whether there are power figures: a busy machine takes more than 0 W."""
        return self.busy_w > 0


NO_POWER_MODEL = HardwareModel("this_machine", 1, 0.0, 0.0, 0.0, 1.0, 0.0, "none")


def idle_share_j(hardware: HardwareModel, *, wall_s: float, cores_usable: float) -> float:
    """Return the processors' idle energy for a run that may use `cores_usable` cores."""
    return hardware.idle_w * wall_s * min(1.0, cores_usable / hardware.cores)


def modelled_energy_j(
    hardware: HardwareModel,
    *,
    wall_s: float,
    cpu_s: float,
    resident_byte_s: float,
    cores_usable: float,
) -> float:
    """Return the joules of a run, or of a part of one, by the formula above.

    `resident_byte_s` is the integral of the resident memory, in bytes times seconds. The result is
    linear in all three quantities, so parts of a run add up.
    """
    dynamic_w_per_core = (hardware.busy_w - hardware.idle_w) / hardware.cores
    return (
        idle_share_j(hardware, wall_s=wall_s, cores_usable=cores_usable)
        + dynamic_w_per_core * cpu_s
        + hardware.memory_w_per_gib * resident_byte_s / _GIB
    )
