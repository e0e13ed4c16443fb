"""Control groups of our own that limit CPU time or memory, in version 2 or version 1.

Version 2 (Documentation/admin-guide/cgroup-v2.rst) has one tree. A group can use the controllers in
its parent's `cgroup.subtree_control`. From our own group upwards, we look for such a parent in
which we can make a folder, and change no existing group. Version 1
(Documentation/admin-guide/cgroup-v1) has a tree for each controller.
"""

import errno
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from trimtab.errors import UserError

_LIMIT_FILES = {
    "cpu": ("cpu.max", "cpu.cfs_quota_us"),
    "memory": ("memory.max", "memory.limit_in_bytes"),
}
_EMPTY_PATIENCE_S = 2.0
_numbers = itertools.count()


class Process(Protocol):
    """A process, of which only the number is asked."""

    @property
    def pid(self) -> int:
        """Its number."""


class HasProcesses(Protocol):
    """An execution of a command, a session of Spark or a trial."""

    def processes(self) -> Sequence[Process]:
        """Return its living processes."""


def make_group(controller: str, mounts: str | None = None, own: str | None = None) -> Path:
    """Return a new, empty control group with limits by `controller`, cpu or memory.

    The caller removes it. `mounts` and `own` are the texts of /proc/self/mounts and
    /proc/self/cgroup. Raises UserError with the tried folders when no group can be made.
    """
    mounts = Path("/proc/self/mounts").read_text() if mounts is None else mounts
    own = Path("/proc/self/cgroup").read_text() if own is None else own
    tried = []
    for parent in parents_for(controller, mounts, own):
        group = parent / f"trimtab-{os.getpid()}-{next(_numbers)}"
        try:
            group.mkdir()
        except OSError as error:
            tried.append(f"{parent}: {error.strerror}")
            continue
        if any(os.access(group / name, os.W_OK) for name in _LIMIT_FILES[controller]):
            return group
        tried.append(f"{parent}: no limit of {controller}")
        group.rmdir()
    raise UserError(
        f"no control group can be made: {'; '.join(tried) or f'no {controller} controller'}"
    )


def parents_for(controller: str, mounts: str, own: str) -> Iterator[Path]:
    """Yield the folders that may hold a group with such a limit, nearest first."""
    for root, group, kind in _trees(controller, mounts, own):
        for parent in (group, *group.parents):
            if kind == "cgroup" or controller in _handed_down(parent):
                yield parent
            if parent == root:
                break


def move_into(group: Path, job: HasProcesses) -> None:
    """Move the job's processes into the group, until all are moved.

    Raises UserError where the machine does not allow that.
    """
    moved = members(group)
    while new := {one.pid for one in job.processes()} - moved:
        moved |= new  # also ended ones, which no group lists
        for process in new:
            move(process, group)


def move(process: int, group: Path) -> None:
    """Move a process, if it still exists; raises UserError where that is not allowed."""
    try:
        (group / "cgroup.procs").write_text(str(process))
    except ProcessLookupError:
        return
    except OSError as error:
        raise UserError(
            f"{group}: process {process} cannot be moved there: {error.strerror}"
        ) from None


def members(group: Path) -> set[int]:
    """Return the processes in the group."""
    return {int(line) for line in (group / "cgroup.procs").read_text().split()}


def remove_group(group: Path) -> None:
    """Remove a group; it is empty shortly after its last process has died or left."""
    deadline = time.monotonic() + _EMPTY_PATIENCE_S
    while True:
        try:
            with suppress(FileNotFoundError):
                group.rmdir()
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.001)  # version 1 has no event for it


def group_of(process: int, group: Path) -> Path:
    """Return the folder of a process' group, in the same tree as `group`.

    Raises ProcessLookupError or FileNotFoundError when the process is gone.
    """
    mounts = Path("/proc/self/mounts").read_text()
    its = Path(f"/proc/{process}/cgroup").read_text()
    return next(
        folder
        for controller in _LIMIT_FILES
        for root, folder, _ in _trees(controller, mounts, its)
        if group.is_relative_to(root)
    )


def _trees(controller: str, mounts: str, groups: str) -> Iterator[tuple[Path, Path, str]]:
    """Yield the trees that may have the limit: root, a process' folder, and cgroup or cgroup2.

    `groups` is the process' /proc/PID/cgroup.
    """
    by_controller = dict(_groups(groups))
    for line in mounts.splitlines():
        _device, folder, kind, options = line.split()[:4]
        if kind == "cgroup2" and "" in by_controller:
            yield Path(folder), Path(folder) / by_controller[""], kind
        elif kind == "cgroup" and _of_both(controller, options, by_controller):
            yield Path(folder), Path(folder) / by_controller[controller], kind


def _of_both(controller: str, options: str, by_controller: dict[str, str]) -> bool:
    return controller in options.split(",") and controller in by_controller


def _groups(text: str) -> Iterator[tuple[str, str]]:
    """Yield each controller ("" for version 2) and the process' group, without the slash."""
    for line in text.splitlines():
        _number, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path.lstrip("/")


def _handed_down(group: Path) -> list[str]:
    try:
        return (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return []
