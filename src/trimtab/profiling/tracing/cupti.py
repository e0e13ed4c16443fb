"""Find CUPTI, the library of the CUDA toolkit by which the driver reports its work."""

import ctypes
import re
from pathlib import Path

_FOLDERS = [
    "nvidia/cu*/lib",
    "nvidia/cuda_cupti/lib",
    "triton/backends/nvidia/lib/cupti",
]
_TOOLKIT_FOLDERS = ["lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"]


class NoGpuError(Exception):
    """This machine has no NVIDIA GPU; the message names the missing part."""


def cuda_major() -> int:
    """Return the newest major version of CUDA that this machine's driver supports, e.g. 13.

    Raises NoGpuError without a driver or device.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoGpuError("the driver's library libcuda.so.1 cannot be loaded") from None
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        raise NoGpuError("there is no device /dev/nvidia0")
    version = ctypes.c_int()
    if driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        raise NoGpuError("the driver does not tell its version")
    return version.value // 1000


def find_cupti(python: Path, newest_major: int, toolkits: Path = Path("/usr/local")) -> Path | None:
    """Return the CUPTI library for the programs of the interpreter `python`, or None.

    It is the newest with a major version up to `newest_major`. Among equals the interpreter's own
    packages have priority, as two copies in one process conflict; then the toolkits
    `toolkits`/cuda*.
    """
    packages = sorted(python.parent.parent.glob("lib*/python3*/*-packages"))
    folders = [
        folder for each in packages for pattern in _FOLDERS for folder in sorted(each.glob(pattern))
    ]
    for toolkit in sorted(toolkits.glob("cuda*"), reverse=True):
        folders += [toolkit / name for name in _TOOLKIT_FOLDERS]
    found: dict[int, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("libcupti.so.*")):
            match = re.fullmatch(r"libcupti\.so\.(\d\d)", path.name)
            if match and int(match[1]) <= newest_major:
                found.setdefault(int(match[1]), path)
    return found[max(found)] if found else None
