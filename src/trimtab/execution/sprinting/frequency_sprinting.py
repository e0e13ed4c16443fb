"""Sprinting by frequency, as the thesis does (Rocha's thesis, section 4.4.1: cpupower)."""

import os
from pathlib import Path

from trimtab.errors import UserError
from trimtab.execution.sprinting.sprinter import Sprinter

CPUS = Path("/sys/devices/system/cpu")


class FrequencySprinter(Sprinter):
    """Every core's highest frequency: normally the lowest one there is, the one found in a sprint.

    `root` holds cpu0/cpufreq, cpu1/cpufreq, ... as Linux shows them (Documentation/admin-guide/
    pm/cpufreq.rst). The `performance` governor is set where there is one, or another might not
    use the frequencies that it may. Raises UserError when a file cannot be read or written.
    """

    def __init__(self, root: Path = CPUS) -> None:
        self._found: dict[Path, str] = {}
        self._normal: dict[Path, str] = {}
        folders = sorted(root.glob("cpu[0-9]*/cpufreq"))
        if not folders:
            raise UserError(f"{root}: no cpu*/cpufreq: frequencies cannot be set on this machine")
        try:
            for folder in folders:
                self._look_at(folder)
        except (OSError, ValueError) as error:
            raise UserError(f"{error}: frequencies cannot be set on this machine") from None
        for path in self._found:
            if not os.access(path, os.W_OK):
                raise UserError(f"{path}: not writable: only root sets frequencies")
        khz = {int(text) for text in self._normal.values()}
        sprint_khz = {int(self._found[path]) for path in self._normal}
        self.normal_milli = self.sprint_milli = 1000 * len(folders)
        self.description = (
            f"by frequency: {min(khz) / 1000:.0f} MHz, sprints at {max(sprint_khz) / 1000:.0f} MHz"
        )

    def sprint(self) -> None:
        """Set every core's highest frequency to the one that was found."""
        for path in self._normal:
            path.write_text(self._found[path])

    def rest(self) -> None:
        """Set every core's highest frequency to its lowest one."""
        for path in self._found.keys() - self._normal.keys():
            path.write_text("performance")
        for path, khz in self._normal.items():
            path.write_text(khz)

    def restore(self) -> None:
        """Write back every governor and frequency that was found."""
        for path, text in self._found.items():
            path.write_text(text)

    def _look_at(self, folder: Path) -> None:
        highest = folder / "scaling_max_freq"
        lowest_khz = max(
            int((folder / name).read_text()) for name in ("cpuinfo_min_freq", "scaling_min_freq")
        )
        self._found[highest] = str(int(highest.read_text()))
        self._normal[highest] = str(lowest_khz)
        offered = folder / "scaling_available_governors"
        if offered.exists() and "performance" in offered.read_text().split():
            governor = folder / "scaling_governor"
            self._found[governor] = governor.read_text().strip()
