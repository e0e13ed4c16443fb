"""This host's processor frequencies in Linux, for sprinting and probing.

Documentation/admin-guide/pm/cpufreq.rst describes the files in
/sys/devices/system/cpu/cpu*/cpufreq, which only root can write. Rocha's thesis sprints by them
(section 4.4.1: cpupower). HEATS probes under the governors `powersave` and `performance`, which
hold the lowest and the highest frequency (section 3.3.1). The driver intel_pstate in its active
mode differs: there `powersave` follows the load.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path

from trimtab.errors import UserError
from trimtab.execution.sprinting.sprinter import Sprinter

CPUS = Path("/sys/devices/system/cpu")
FOUND = Path("/run/trimtab-frequencies")  # written by root, as frequencies are
GOVERNORS = ("powersave", "performance")  # slowest first: levels 0 and 1
_KHZ_PER_GHZ = 1e6


class FrequencySprinter(Sprinter):
    """Every core's frequency limit: normally the lowest frequency, in a sprint the original limit.

    `root` holds cpu0/cpufreq, cpu1/cpufreq and so on. The `performance` governor is set where it
    exists, as another one might not reach the limit. Raises UserError when a file cannot be read or
    written.
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
        """Set every core's frequency limit to the original one."""
        for path in self._normal:
            path.write_text(self._found[path])

    def rest(self) -> None:
        """Set every core's frequency limit to its lowest frequency."""
        for path in self._found.keys() - self._normal.keys():
            path.write_text("performance")
        for path, khz in self._normal.items():
            path.write_text(khz)

    def restore(self) -> None:
        """Restore every original governor and frequency limit."""
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


class HighestFrequencies:
    """Frequency limits of single processors; `restore` writes the original ones back.

    `root` holds cpu0/cpufreq, cpu1/cpufreq and so on. The governor chooses the frequency below the
    limit. A file in `kept` saves the original limits, locked while this process lives. The next
    such object restores the limits of a killed process.
    """

    def __init__(self, root: Path = CPUS, kept: Path = FOUND) -> None:
        self._root, self._kept = root, kept
        self._found: dict[Path, str] = {}
        self._file: TextIOWrapper | None = None
        self._path = kept
        for path in sorted(kept.glob("*.json")) if kept.is_dir() else ():
            _write_back_left(path)

    def limit(self, cpus: Iterable[int], mhz: float) -> None:
        """Limit `cpus`; raises UserError where this machine does not allow that."""
        khz = round(mhz * 1000)
        try:
            for cpu in cpus:
                folder = self._root / f"cpu{cpu}" / "cpufreq"
                lowest, highest = (
                    int((folder / f"cpuinfo_{end}_freq").read_text()) for end in ("min", "max")
                )
                if not lowest <= khz <= highest:
                    raise UserError(
                        f"{mhz:g} MHz: expected {lowest / 1000:g} to {highest / 1000:g} MHz"
                    )
                path = folder / "scaling_max_freq"
                if path not in self._found:
                    self._keep({**self._found, path: path.read_text()})
                path.write_text(str(khz))
        except (OSError, ValueError) as error:
            raise UserError(f"{error}: frequencies cannot be set on this machine") from None

    def restore(self) -> None:
        """Restore every original limit."""
        for path, text in self._found.items():
            path.write_text(text)
        self._found.clear()
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            self._file.close()
            self._file = None

    def _keep(self, found: dict[Path, str]) -> None:
        """Save the original limits, before anything is changed."""
        if self._file is None:
            self._kept.mkdir(parents=True, exist_ok=True)
            # Other processes do not see this name until the file is locked.
            descriptor, name = tempfile.mkstemp(".new", dir=self._kept)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._path = Path(name).rename(Path(name).with_suffix(".json"))
            self._file = open(descriptor, "w")  # noqa: SIM115 - closed by `restore`
        self._file.seek(0)
        json.dump({str(path): text for path, text in found.items()}, self._file)
        self._file.truncate()
        self._file.flush()
        self._found = found


class Governors:
    """The governors that every processor can be set to: both of `GOVERNORS`, or none.

    `missing` says why there are none, or is empty.
    """

    def __init__(self, root: Path = CPUS) -> None:
        self._files = sorted(root.glob("cpu[0-9]*/cpufreq/scaling_governor"))
        self.missing = self._obstacle(root)
        self.names: tuple[str, ...] = () if self.missing else GOVERNORS

    def frequency_ghz(self, governor: str) -> float:
        """Return the first processor's frequency under `governor`, in GHz."""
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


def _write_back_left(path: Path) -> None:
    """Restore the limits in a file whose process has ended."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name, text in json.loads(file.read()).items():
                with suppress(OSError):
                    Path(name).write_text(text)
            path.unlink(missing_ok=True)
    except (OSError, ValueError):  # locked, gone, or from a process killed while writing
        return
