"""The NVIDIA GPUs that a program may use, through NVML: memory, energy and how busy they are.

`nvmlDeviceGetTotalEnergyConsumption` counts a board's millijoules since the driver was loaded
(Volta and newer). `nvmlDeviceGetUtilizationRates` gives the share of the last 1/6 to 1 s in which
any kernel ran on the board, not how much of the board it used.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import pynvml

_MJ_PER_J = 1e3
_PER_CENT = 100


def visible_devices(environment: Mapping[str, str], uuids: Sequence[str]) -> list[int]:
    """Return the indices of the boards a program with this environment may use.

    CUDA_VISIBLE_DEVICES lists indices or (prefixes of) UUIDs; boards after an invalid entry are
    invisible too (CUDA programming guide, "CUDA environment variables"). Indices are in the order
    of the bus. `uuids` has all boards, in that order.
    """
    if "CUDA_VISIBLE_DEVICES" not in environment:
        return list(range(len(uuids)))
    chosen: list[int] = []
    for entry in environment["CUDA_VISIBLE_DEVICES"].split(","):
        entry = entry.strip()
        if entry.isdecimal():
            named = [int(entry)] if int(entry) < len(uuids) else []
        else:
            named = [i for i, uuid in enumerate(uuids) if entry and uuid.startswith(entry)]
        if len(named) != 1:
            break
        chosen += [index for index in named if index not in chosen]
    return chosen


class Gpus:
    """The NVIDIA GPUs that a program may use; none without a driver.

    `uuids` name them in CUDA_VISIBLE_DEVICES. `missing` says why their energy is not metered, or is
    "".
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._devices: list[object] = []
        self.uuids: tuple[str, ...] = ()
        self._start_bytes = 0
        self.missing = ""
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            self.missing = f"no NVIDIA GPU: {error}"
            return
        handles = [
            pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())
        ]
        uuids = [pynvml.nvmlDeviceGetUUID(handle) for handle in handles]
        visible = visible_devices(environment, uuids)
        self._devices = [handles[index] for index in visible]
        self.uuids = tuple(uuids[index] for index in visible)
        self._start_bytes = self._used_bytes()
        try:
            self.energy_j()
        except pynvml.NVMLError as error:
            self.missing = f"no energy counter: {error}"

    def __len__(self) -> int:
        return len(self._devices)

    @property
    def metered(self) -> bool:
        """Whether there are GPUs and their energy can be read."""
        return bool(self._devices) and not self.missing

    def energy_j(self) -> float:
        """Return the joules of all boards since their driver was loaded."""
        return float(
            sum(pynvml.nvmlDeviceGetTotalEnergyConsumption(device) for device in self._devices)
            / _MJ_PER_J
        )

    def memory_bytes(self, pids: Collection[int]) -> int | None:
        """Return the GPU memory that the processes hold now; None without a GPU.

        If NVML knows none of these process numbers, as in a container with its own numbers, it is
        the growth of the boards' used memory since this object was made.
        """
        if not self._devices:
            return None
        held, listed = 0, False
        for device in self._devices:
            with suppress(pynvml.NVMLError):
                for process in pynvml.nvmlDeviceGetComputeRunningProcesses(device):
                    if process.pid in pids and process.usedGpuMemory is not None:
                        held, listed = held + process.usedGpuMemory, True
        return held if listed else max(0, self._used_bytes() - self._start_bytes)

    def busy_share(self) -> float | None:
        """Return the share of the last moments in which a kernel ran, 0 to 1, a mean of all boards.

        None without a GPU, or if a board does not report it.
        """
        try:
            busy = [pynvml.nvmlDeviceGetUtilizationRates(device).gpu for device in self._devices]
        except pynvml.NVMLError:
            return None
        return sum(busy) / _PER_CENT / len(busy) if busy else None

    def _used_bytes(self) -> int:
        return sum(pynvml.nvmlDeviceGetMemoryInfo(device).used for device in self._devices)

    def __enter__(self) -> "Gpus":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


class GpuMeter:
    """A run's use of its GPUs, sampled while it runs; made before the run starts.

    Each value is None without a GPU that reports it: `peak_memory_bytes`, `energy_j` of all boards
    from now to `end`, and `busy_share` until the last sample.
    """

    def __init__(self, gpus: Gpus) -> None:
        self._gpus = gpus
        self.peak_memory_bytes: int | None = gpus.memory_bytes(())
        self.energy_j: float | None = None
        self._start_j = gpus.energy_j() if gpus.metered else None
        self._busy_s: float | None = 0.0
        self._looked_s = 0.0

    def look(self, pids: Collection[int], time_s: float) -> int | None:
        """Sample the GPUs at a time since the run's start; return the memory that `pids` hold."""
        share = self._gpus.busy_share()
        if share is None or self._busy_s is None:
            self._busy_s = None
        else:
            self._busy_s += share * (time_s - self._looked_s)
        self._looked_s = time_s
        memory_bytes = self._gpus.memory_bytes(pids)
        if memory_bytes is not None:
            self.peak_memory_bytes = max(self.peak_memory_bytes or 0, memory_bytes)
        return memory_bytes

    def end(self) -> None:
        """Read the energy counter for the last time."""
        if self._start_j is not None:
            self.energy_j = self._gpus.energy_j() - self._start_j

    @property
    def busy_share(self) -> float | None:
        """The share of the time in which a kernel ran, 0 to 1; None without a sample."""
        if self._busy_s is None or not self._looked_s:
            return None
        return self._busy_s / self._looked_s
