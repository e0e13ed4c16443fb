"""The frequency governors of this host's processors, as Linux shows them (cpufreq).

Documentation/admin-guide/pm/cpufreq.rst: `cpu*/cpufreq/scaling_governor` under
/sys/devices/system/cpu, writable by root. HEATS probes with `powersave` and `performance`, which
hold the lowest and the highest frequency (Rocha's thesis, section 3.3.1). The driver intel_pstate
in its active mode has governors of these names that do not: there `powersave` follows the load.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
GOVERNORS = ("powersave", "performance")  # slowest first: levels 0 and 1
_KHZ_PER_GHZ = 1e6


class Governors:
    """The governors that every processor can be set to: both of `GOVERNORS`, or none.

    `missing` says why there are none, or is empty.
    """

    def __init__(self, root: Path = CPUS) -> None:
        self._files = sorted(root.glob("cpu[0-9]*/cpufreq/scaling_governor"))
        self.missing = self._obstacle(root)
        self.names: tuple[str, ...] = () if self.missing else GOVERNORS

    def frequency_ghz(self, governor: str) -> float:
        """Return the frequency that `governor` holds the first processor at, in GHz."""
        limit = "cpuinfo_min_freq" if governor == "powersave" else "cpuinfo_max_freq"
        return int((self._files[0].parent / limit).read_text()) / _KHZ_PER_GHZ

    @contextmanager
    def holding(self, governor: str) -> Iterator[None]:
        """Set every processor to `governor` for the block, and back afterwards."""
        before = [(file, file.read_text().strip()) for file in self._files]
        try:
            for file, _ in before:
                file.write_text(governor)
            yield
        finally:
            for file, name in before:
                file.write_text(name)

    def _obstacle(self, root: Path) -> str:
        if not self._files:
            return f"no cpufreq under {root}"
        for file in self._files:
            offered = (file.parent / "scaling_available_governors").read_text().split()
            if not set(GOVERNORS) <= set(offered):
                return f"{file.parent} offers {', '.join(offered)} only"
            if not os.access(file, os.W_OK):
                return f"{file} cannot be written by this user"
        return ""
