"""What tells machines apart whose users share a ground truth.

What settings cost holds for one kind of machine, and `this_machine` is the name of everybody's.
"""

import hashlib
import os
import platform
from pathlib import Path

from trimtab.tuning.plan import installed_memory_gib

_CPUINFO = Path("/proc/cpuinfo")
# On x86 the name; on ARM, which has none there, who made the core and which it is.
_MODEL = ("model name", "CPU implementer", "CPU part")


def machine_key(hardware: str) -> str:
    """Return a key of this machine under the power model of a hardware YAML, by that one's name.

    It is the same on machines with the same model and number of CPUs and as much memory, in GiB.
    """
    cores, gib = os.cpu_count() or 1, round(installed_memory_gib())
    digest = hashlib.sha256(_cpu_model().encode()).hexdigest()[:8]
    return f"{hardware}_{cores}_cores_{gib}_gib_{digest}"


def _cpu_model() -> str:
    try:
        lines = _CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return " ".join([platform.machine(), *(found[name] for name in _MODEL if name in found)])
