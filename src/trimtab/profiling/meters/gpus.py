"""The NVIDIA GPUs that a program may use, through NVML: memory, energy and how busy they are.

`nvmlDeviceGetTotalEnergyConsumption` counts a board's millijoules since the driver was loaded
(Volta and newer). `nvmlDeviceGetUtilizationRates` tells for how much of the last sixth of a second
to second any kernel ran on it: not how much of the board that kernel kept busy.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import pynvml

_MJ_PER_J = 1e3
_PER_CENT = 100


def visible_devices(environment: Mapping[str, str], uuids: Sequence[str]) -> list[int]:
    """Return the indices of the boards a program with this environment may use.

    CUDA_VISIBLE_DEVICES lists indices or (beginnings of) UUIDs, and what follows an invalid entry
    is invisible too (CUDA programming guide, "CUDA environment variables"). Indices are taken in
    the order of the bus. `uuids` are those of all boards, in that order.
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
    """The NVIDIA GPUs that a program may use; none where there is no driver.

    `uuids` name them in CUDA_VISIBLE_DEVICES. `missing` says why their energy is not metered, or is
    empty.
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

        Where NVML knows none of the processes by these numbers, as in a container with its own, it
        is how much more of the boards is in use than when this object was made.
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
        """Return for which share of the last moments any kernel ran, 0 to 1, a mean of all boards.

        None without a GPU, or where one does not tell.
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
    """What one run uses of its GPUs, looked at while it goes on; made before it starts.

    Each is None where there is no GPU, or none that tells: `peak_memory_bytes`, `energy_j` of all
    boards from here to `end`, and `busy_share` of the time until the last look.
    """

    def __init__(self, gpus: Gpus) -> None:
        self._gpus = gpus
        self.peak_memory_bytes: int | None = gpus.memory_bytes(())
        self.energy_j: float | None = None
        self._start_j = gpus.energy_j() if gpus.metered else None
        self._busy_s: float | None = 0.0
        self._looked_s = 0.0

    def look(self, pids: Collection[int], time_s: float) -> int | None:
        """Look at the GPUs at a time since the run's start; return the memory that `pids` hold."""
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
        """For which share of the time any kernel ran, 0 to 1; None where nobody looked."""
        if self._busy_s is None or not self._looked_s:
            return None
        return self._busy_s / self._looked_s
