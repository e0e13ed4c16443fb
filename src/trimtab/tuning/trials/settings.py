"""The system settings of a trial, and their change between its epochs.

Thesis, section 6.3.3: system parameters are probed during training, one configuration per epoch.
Cores, memory and frequency are set from outside, for the processes of the trial alone. Threads and
loader workers are set by the program, which is told between its epochs.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trimtab.errors import UserError
from trimtab.execution.sprinting.core_sprinting import set_affinity
from trimtab.execution.sprinting.frequencies import HighestFrequencies
from trimtab.processes.control_groups import HasProcesses
from trimtab.processes.cpu_share import CpuShare
from trimtab.processes.memory_limit import MemoryLimit, ProcessMemory, memory_limit

_GIB = 1 << 30
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True)
class SystemSettings:
    """The settings of a trial; None leaves a setting unchanged.

    `cpus` are the numbers and `gpus` the names of those it may use. `threads` is the size of the
    program's pools, `loader_workers` the number of processes that prepare its data. `cpu_share` is
    the share of the time in which it may use its CPUs. It is no parameter of a trial: it emulates a
    slower device.
    """

    cpus: tuple[int, ...] | None = None
    threads: int | None = None
    memory_bytes: int | None = None
    frequency_mhz: float | None = None
    gpus: tuple[str, ...] | None = None
    loader_workers: int | None = None
    cpu_share: float | None = None

    @classmethod
    def of(
        cls, configuration: Mapping[str, Any], cpus: Sequence[int], gpus: Sequence[str] = ()
    ) -> "SystemSettings":
        """Return the settings of a configuration's `system` parameters, by their full names.

        The trial gets the first `system.cores` of `cpus` and the first `system.gpus` of `gpus`.
        `system.threads` defaults to the number of cores. Raises UserError where it wants too many.
        """
        cores = _whole(configuration, "system.cores", len(cpus))
        wanted_gpus = _whole(configuration, "system.gpus", len(gpus))
        memory_gib = configuration.get("system.memory_gib")
        frequency_mhz = configuration.get("system.frequency_mhz")
        return cls(
            cpus=None if cores is None else tuple(cpus[:cores]),
            threads=_whole(configuration, "system.threads") or cores,
            memory_bytes=None if memory_gib is None else round(float(memory_gib) * _GIB),
            frequency_mhz=None if frequency_mhz is None else float(frequency_mhz),
            gpus=None if wanted_gpus is None else tuple(gpus[:wanted_gpus]),
            loader_workers=_whole(configuration, "system.loader_workers"),
        )

    @property
    def for_program(self) -> dict[str, int]:
        """The settings that the program itself has to make."""
        told = {"threads": self.threads, "loader_workers": self.loader_workers}
        return {name: value for name, value in told.items() if value is not None}

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables at a program's start, for settings without another way."""
        variables: dict[str, str] = {}
        if self.threads is not None:
            variables |= dict.fromkeys(_THREAD_VARIABLES, str(self.threads))
        if self.cpu_share is not None and self.cpus is not None and len(self.cpus) > 1:
            # One thread per core: two threads on one core would wait for each other.
            places = ",".join(f"{{{cpu}}}" for cpu in self.cpus)
            variables |= {"OMP_PROC_BIND": "true", "OMP_PLACES": places}
        if self.gpus is not None:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(self.gpus)
        return variables


@dataclass(frozen=True)
class SettingsChange:
    """The effect of settings: the time it took, and why some are not in effect.

    `ways` says how a setting was made where there are several ways.
    """

    cost_s: float
    not_set: Mapping[str, str]
    ways: Mapping[str, str]


class TrialMachine:
    """The machine's settings for one trial, made from outside.

    Names are those of a configuration: cores, memory_gib, frequency_mhz, gpus; and cpu_share.
    """

    def __init__(self, job: HasProcesses) -> None:
        self._job = job
        self._memory: MemoryLimit | None = None
        self._cpu_share: CpuShare | None = None
        self._frequencies = HighestFrequencies()
        self._cpus: tuple[int, ...] | None = None
        self._gpus: tuple[str, ...] | None = None
        self._mhz: float | None = None

    def start(self, settings: SystemSettings, began_on: Collection[int] = ()) -> SettingsChange:
        """Apply `settings`, just after the job has started with their `environment`.

        A job started on its CPUs is not bound again: OpenMP may have bound each thread to one CPU
        by now, and two threads on one CPU would wait for each other.
        """
        if settings.cpus is not None and set(began_on) == set(settings.cpus):
            self._cpus, settings = settings.cpus, replace(settings, cpus=None)
        self._gpus = settings.gpus
        if settings.memory_bytes is not None:
            self._memory = memory_limit()
        return self.change(settings)

    def change(self, settings: SystemSettings) -> SettingsChange:
        """Apply changed settings; never fails, as training can go on without them."""
        began = time.perf_counter()
        not_set: dict[str, str] = {}
        steps: tuple[tuple[str, Any, Callable[[Any], None]], ...] = (
            # First: memory of a just started program from before is not counted.
            ("memory_gib", settings.memory_bytes, self._set_memory),
            ("cores", settings.cpus, self._set_cpus),
            ("frequency_mhz", settings.frequency_mhz, self._set_frequency),
            ("cpu_share", settings.cpu_share, self._set_cpu_share),
            ("gpus", settings.gpus, self._check_gpus),
        )
        for name, value, set_it in steps:
            if value is None:
                continue
            try:
                set_it(value)
            except (UserError, OSError) as error:
                not_set[name] = str(error)
        ways = {} if self._memory is None else {"memory_gib": self._memory.description}
        return SettingsChange(time.perf_counter() - began, not_set, ways)

    def out_of_memory(self) -> bool:
        """Whether the trial's own limit has killed a process."""
        return self._memory is not None and self._memory.oom_killed()

    def close(self) -> None:
        """Restore the machine's state; the job has ended."""
        self._frequencies.restore()
        for limit in (self._memory, self._cpu_share):
            if limit is not None:
                limit.close()

    def _set_cpus(self, cpus: tuple[int, ...]) -> None:
        set_affinity(self._job, cpus)
        self._cpus = cpus
        if self._mhz is not None:
            self._set_frequency(self._mhz)
        for process in self._job.processes()[:1]:
            allowed = os.sched_getaffinity(process.pid)
            if allowed != set(cpus):
                raise UserError(f"of CPUs {_listed(cpus)} it may use {_listed(allowed)} only")

    def _set_memory(self, limit_bytes: int) -> None:
        if self._memory is None:  # a control group would not count present memory
            self._memory = ProcessMemory("the trial began without a limit")
        self._memory.set(self._job, limit_bytes)

    def _set_frequency(self, mhz: float) -> None:
        if self._cpus is None:
            raise UserError("a frequency is that of cores: give the trial some")
        self._frequencies.restore()
        self._frequencies.limit(self._cpus, mhz)
        self._mhz = mhz

    def _set_cpu_share(self, share: float) -> None:
        if self._cpu_share is None:
            self._cpu_share = CpuShare()
        self._cpu_share.set(self._job, share)

    def _check_gpus(self, gpus: tuple[str, ...]) -> None:
        if gpus != self._gpus:
            raise UserError("a program has the GPUs that it started with: pause and resume it")


def _listed(cpus: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(cpus)))


def _whole(configuration: Mapping[str, Any], name: str, most: int | None = None) -> int | None:
    """Return a parameter's whole number, or None where the configuration has none."""
    value = configuration.get(name)
    if value is None:
        return None
    if most is not None and int(value) > most:
        raise UserError(f"{name}: {value}: there are {most} for this trial")
    return int(value)
