"""The NVIDIA GPUs that a program may use, through NVML: their memory and energy counters.

`nvmlDeviceGetTotalEnergyConsumption` counts a board's millijoules since the driver was loaded
(Volta and newer).
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from types import TracebackType

import pynvml

_MJ_PER_J = 1e3


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

    def _used_bytes(self) -> int:
        return sum(pynvml.nvmlDeviceGetMemoryInfo(device).used for device in self._devices)

    def __enter__(self) -> "Gpus":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()
