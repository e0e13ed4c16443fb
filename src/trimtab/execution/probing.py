"""Probing this host for HEATS: the cost of known tasks on it (Rocha's thesis, section 3.3.1).

Each task runs for real at every number of cores and, where cpufreq allows this user, under both
governors. The costs become the `probes` of a hardware YAML.
"""

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from trimtab.errors import UserError
from trimtab.execution import rooflines
from trimtab.execution.sprinting.frequencies import Governors
from trimtab.files import atomic_write
from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import HardwareModel, idle_share_j
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run

_GIB = 1 << 30
# Runs a command on the processors that the first argument lists.
_PINNED = (
    "import os, sys; os.sched_setaffinity(0, map(int, sys.argv[1].split(','))); "
    "os.execvp(sys.argv[2], sys.argv[2:])"
)
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class ProbingTask:
    """A command, run with each amount of work.

    In its words, `{cores}` stands for the number of its cores, `{work}` for the amount.
    """

    name: str
    command: tuple[str, ...]
    works: tuple[int, ...] = (1,)
    environment: Mapping[str, str] = field(default_factory=dict)


def _own(name: str, works: tuple[int, ...]) -> ProbingTask:
    module = f"trimtab.workloads.probes.{name}"
    options = ("--iterations", "{work}", "--workers", "{cores}")
    no_gpu = {"CUDA_VISIBLE_DEVICES": ""}  # else it would be charged the boards' idle power
    return ProbingTask(name, (sys.executable, "-m", module, *options), works, no_gpu)


TASKS = {
    task.name: task
    for task in (_own("k_means", (250, 500)), _own("matrix_multiplication", (50, 100)))
}
NAMES = (*TASKS, rooflines.NAME)


def probe(
    name: str,
    output: Path,
    *,
    hardware: HardwareModel,
    tasks: Sequence[str] = NAMES,
    commands: Mapping[str, Sequence[str]] | None = None,
    models: Callable[[], list[dict[str, Any]]] | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Probe this host and write the hardware YAML `output`, which has to be called `{name}.yaml`.

    `tasks` are some of `NAMES`, `commands` are the user's own, by name. `models`, if given, times
    models for the key of that name. `hardware` is the power model of this host. Returns the
    document. Before anything runs, raises UserError for an unknown task and, unless `overwrite`,
    for an existing file.
    """
    check_output(name, output, overwrite=overwrite)
    unknown = [task for task in tasks if task not in NAMES]
    if unknown:
        raise UserError(f"probing task {unknown[0]!r} is unknown; there are: {', '.join(NAMES)}")
    chosen = [TASKS[task] for task in tasks if task in TASKS]
    chosen += [ProbingTask(key, tuple(words)) for key, words in (commands or {}).items()]
    document = probe_host(name, chosen, hardware=hardware)
    if rooflines.NAME in tasks:
        document["rooflines"] = rooflines.rooflines(sorted(os.sched_getaffinity(0)))
    if models is not None:
        document["models"] = models()
    check_output(name, output, overwrite=overwrite)  # it may have been written meanwhile
    text = yaml.safe_dump(document, sort_keys=False, width=98, allow_unicode=True)
    with atomic_write(output) as temporary:
        temporary.write_text(f"# Probed on this host by `trimtab advanced probe`.\n{text}")
    return document


def probe_host(
    name: str,
    tasks: Sequence[ProbingTask],
    *,
    hardware: HardwareModel,
    governors: Governors | None = None,
    timeout_s: float = 3600.0,
) -> dict[str, Any]:
    """Run every task and return the hardware YAML's content for this host.

    Tasks run on 1 core up to all cores of this process. Energy excludes idle power: RAPL's excess
    over it, else the power model's. Raises UserError when there are more cores than `hardware` has,
    when the energy is unknown, and when a task fails.
    """
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > hardware.cores:
        raise UserError(
            f"hardware {hardware.name} has {hardware.cores} cores, this host {len(cpus)}: name the "
            "YAML of this host, or copy one and correct it"
        )
    if not tasks:
        raise UserError("nothing to probe with: name a task or give a command")
    for task in tasks:
        if not task.command or shutil.which(task.command[0]) is None:
            raise UserError(
                f"probing task {task.name}: {' '.join(task.command)!r}: no such program"
            )
    governors = Governors() if governors is None else governors
    probes: list[dict[str, Any]] = []
    levels = enumerate(governors.names or (None,))
    counts = range(1, len(cpus) + 1)
    with TemporaryDirectory(prefix="trimtab-probe-") as folder:
        for (level, governor), task, count in itertools.product(levels, tasks, counts):
            for work in task.works:
                program = _program(task, cpus[:count], work, timeout_s)
                with governors.holding(governor) if governor else nullcontext():
                    run = measure_run(
                        program,
                        condition=task.name,
                        repeat=0,
                        hardware=hardware,
                        log_dir=Path(folder),
                    )
                _check(run, task.name)
                probes.append(
                    {
                        "task": task.name,
                        "cores": count,
                        "memory_gib": round(run.peak_rss_bytes / _GIB, 4),
                        "work": work,
                        "wall_s": round(run.wall_s, 4),
                        "energy_j": round(_active_j(run, hardware, len(cpus)), 4),
                        "level": level,
                        "energy_source": str(run.energy.energy_source),  # plain, for the YAML
                    }
                )
    return _document(name, hardware, governors, probes)


def check_output(name: str, output: Path, *, overwrite: bool) -> None:
    """Raise UserError unless `output` is `{name}.yaml` and may be written."""
    if output.name != f"{name}.yaml":
        raise UserError(f"{output}: the file of hardware {name!r} has to be called {name}.yaml")
    if output.exists() and not overwrite:
        raise UserError(f"{output}: is there already; choose another name or say --overwrite")


def _program(task: ProbingTask, cpus: Sequence[int], work: int, timeout_s: float) -> Program:
    count = str(len(cpus))
    words = [word.replace("{cores}", count).replace("{work}", str(work)) for word in task.command]
    listed = ",".join(map(str, cpus))
    threads = dict.fromkeys(_THREAD_COUNTS, count)
    return Program(
        command=(sys.executable, "-I", "-S", "-c", _PINNED, listed, *words),
        workdir=Path.cwd(),
        environment={**os.environ, **threads, **task.environment},
        timeout_s=timeout_s,
    )


def _check(run: MeasuredRun, task: str) -> None:
    if run.failure:
        what = run.failure.partition("; see ")[0]  # the logs go with the temporary folder
        said = run.stderr.read_text(errors="replace").strip().splitlines()
        raise UserError(f"probing task {task}: {what}: {said[-1] if said else 'no message'}")
    if run.energy.energy_source == "unknown":
        raise UserError(
            "the energy of this host is unknown: RAPL cannot be read and there is no power model; "
            "name a hardware YAML"
        )


def _active_j(run: MeasuredRun, hardware: HardwareModel, cores_usable: int) -> float:
    """Return the energy of a run without the idle power of the host."""
    if run.energy.energy_source == "modelled":
        idle_j = idle_share_j(hardware, wall_s=run.wall_s, cores_usable=cores_usable)
        return run.energy.energy_j - idle_j
    return run.energy.energy_low_j  # measured: only the active part


def _document(
    name: str, hardware: HardwareModel, governors: Governors, probes: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    frequencies = "both governors" if governors.names else f"one frequency ({governors.missing})"
    document: dict[str, Any] = {
        "name": name,
        "description": f"this host, probed at {frequencies}",
        "cores": hardware.cores,
        "idle_w": hardware.idle_w,
        "busy_w": hardware.busy_w,
        "memory_w_per_gib": hardware.memory_w_per_gib,
        "memory_gib": hardware.memory_gib,
        "power_relative_error": hardware.power_relative_error,
        "power_source": hardware.source,
    }
    if governors.names:
        document["levels"] = _levels(hardware, governors, probes)
    return {**document, "probes": list(probes)}


def _levels(
    hardware: HardwareModel, governors: Governors, probes: Sequence[dict[str, Any]]
) -> list[dict[str, float]]:
    """Return both levels, with ratios of speed and power above idle, slow to fast.

    These are medians over the pairs of probes that differ only in their level.
    """
    half = len(probes) // 2
    pairs = list(zip(probes[:half], probes[half:], strict=True))
    speed = median(fast["wall_s"] / slow["wall_s"] for slow, fast in pairs)
    power = median(
        (slow["energy_j"] / slow["wall_s"]) / (fast["energy_j"] / fast["wall_s"])
        for slow, fast in pairs
    )
    if not speed < 1:
        raise UserError(
            f"the governor {governors.names[0]} is no slower than {governors.names[1]} here "
            "(intel_pstate in active mode?): probe with the governors left alone"
        )
    active_w = hardware.busy_w - hardware.idle_w
    low, high = (governors.frequency_ghz(governor) for governor in governors.names)
    slow_w = round(hardware.idle_w + active_w * min(1.0, power), 3)
    return [
        {"frequency_ghz": low, "speed": round(speed, 4), "busy_w": slow_w},
        {"frequency_ghz": high, "speed": 1.0, "busy_w": hardware.busy_w},
    ]
