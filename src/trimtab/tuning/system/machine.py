"""A key of the machine, for users who share a ground truth.

The cost of settings holds for one kind of machine, and all of them are called `this_machine`.
"""

import hashlib
import os
import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
# The name on x86; on ARM, which has none there, the core's maker and type.
_MODEL = ("model name", "CPU implementer", "CPU part")


def machine_key(hardware: str) -> str:
    """Return a key of this machine under the power model of the hardware YAML `hardware`.

    Machines with equal model and number of CPUs and equal memory, in GiB, have equal keys.
    """
    cores, gib = os.cpu_count() or 1, round(installed_memory_gib())
    digest = hashlib.sha256(cpu_model().encode()).hexdigest()[:8]
    return f"{hardware}_{cores}_cores_{gib}_gib_{digest}"


def installed_memory_gib() -> float:
    """Return the memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)


def cpu_model() -> str:
    """Return the architecture and model of the CPUs."""
    try:
        lines = _CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return " ".join([platform.machine(), *(found[name] for name in _MODEL if name in found)])
