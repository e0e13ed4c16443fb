"""A Slurm on this machine, whose nodes get the images of their jobs from registries.

Its nodes are control groups with CORES of a core each, less than the machine has in all: as on a
cluster, they do not compete for processors. Nodes have what they get in memory, so they do not
compete for a disk either.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from slurm_backfill import SCHEDULERS, LoggedSlurm, cluster_of
from slurm_image_programs import PROGRAMS
from slurm_log import SlurmLog, read_slurm_log

from trimtab.images.archives.opening import open_image
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.cold_start.pulling import registry

SIDES = ("original", "slim")
NODES, CORES, MBIT_PER_S = 4, 0.3, 100.0
POLICY = "fcfs"  # as all jobs have one node, backfilling starts them in the same order
JOB = Path(__file__).with_name("slurm_image_job.py")
_CPU = Path("/sys/fs/cgroup/cpu")
_CONTROL = "control"
_PERIOD_US, _FIRST = 20_000, 1 << 18
_PATIENCE_S = 280.0
_POLL_S = 0.2


class Running(NamedTuple):
    """A Slurm, and where its jobs find their nodes' images, control groups and registries."""

    slurm: LoggedSlurm
    place: Path
    groups: Path
    registries: dict[tuple[str, str], str]


def bytes_of(folder: Path, name: str, side: str) -> int:
    """Return the compressed bytes of an image's layers."""
    return sum(layer.region.size_bytes for layer in open_image(folder / name / side).layers)


def command_of(folder: Path, name: str, side: str, amount: float = 1.0) -> list[str]:
    """Return what a job runs, with ROOT for the image's root."""
    root = folder / name / ("root" if side == "original" else "workspace/env")
    command = [*PROGRAMS[name].command[:-1], f"{amount:.3f}"]
    words = RootFileSystem(root).entering(command, Path("/"), None)
    return [word.replace(str(root), "ROOT") for word in words]


@contextmanager
def groups_of(nodes: Sequence[str]) -> Iterator[Path]:
    """Yield the folder of control groups, one for each node, that come before all other work."""
    if not (_CPU / "cpu.cfs_quota_us").parent.is_dir():
        raise SystemExit(f"{_CPU}: missing; expected control groups, version 1, with cpu")
    folder = _CPU / f"trimtab-{os.getpid()}"
    with ExitStack() as stack:
        for group in (folder, folder / _CONTROL, *(folder / node for node in nodes)):
            group.mkdir()
            stack.callback(group.rmdir)
        (folder / "cpu.shares").write_text(str(_FIRST))
        (folder / _CONTROL / "cgroup.procs").write_text("0")  # Slurm and registries are its too
        stack.callback((_CPU / "cgroup.procs").write_text, "0")
        for node in nodes:
            (folder / node / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (folder / node / "cpu.cfs_quota_us").write_text(str(int(CORES * _PERIOD_US)))
        yield folder


@contextmanager
def in_memory(place: Path) -> Iterator[None]:
    """Have the files of `place` in memory; they are gone at the end."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "trimtab", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    """Yield a Slurm whose nodes have no image yet; what they get is in memory."""
    place = folder / "nodes"
    with ExitStack() as stack:
        stack.enter_context(in_memory(place))
        (place / "jobs").mkdir()
        registries = {}
        for name in PROGRAMS:
            for side in SIDES:
                served = registry(folder / name / side, MBIT_PER_S / 1000)
                registries[name, side] = "{}:{}".format(*stack.enter_context(served))
        slurm = LoggedSlurm(cluster_of(NODES), *SCHEDULERS[POLICY])
        groups = stack.enter_context(groups_of([node.name for node in slurm.nodes]))
        yield Running(stack.enter_context(slurm), place, groups, registries)


def submit(on: Running, *does: str, node: str = "") -> int:
    """Submit a job that does as slurm_image_job.py says; return its number in Slurm."""
    words = [sys.executable, "-I", "-S", str(JOB), str(on.place), str(on.groups), *does]
    options = [f"--nodelist={node}"] if node else []
    told = on.slurm.call(
        *("sbatch", "--parsable", "--nodes=1", "--ntasks=1", "--mem=1M", "--time=10"),
        *("--output=/dev/null", f"--error={on.place}/jobs/%j.err", *options),
        stdin=f"#!/bin/sh\nexec {shlex.join(words)}\n",
    )
    return int(told)


def wait(on: Running, jobs: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Wait for jobs; return what each says of itself, with its times in Slurm."""
    end_s = time.monotonic() + _PATIENCE_S
    while not (log := read_log(on)).ready.keys() >= set(jobs):
        if time.monotonic() > end_s:
            raise SystemExit(f"jobs are left after {_PATIENCE_S:g} s")
        time.sleep(_POLL_S)
    found = {}
    for job in jobs:
        written = on.place / "jobs" / f"{job}.json"
        if not written.exists():
            raise SystemExit(f"job {job}: {written.with_suffix('.err').read_text()}")
        record = json.loads(written.read_text())
        for name in ("submitted", "started", "ended", "ready"):
            record["times"][f"slurm_{name}"] = getattr(log, name)[job] / 1e9
        found[job] = record
    return found


def read_log(on: Running) -> SlurmLog:
    return read_slurm_log((on.slurm.folder / "log/slurmctld.log").read_text().splitlines())
