"""A control group of our own in which CPU time can be limited, in version 2 or version 1.

Version 2 (Documentation/admin-guide/cgroup-v2.rst) has one tree; a group can limit CPU time if its
parent hands the controller down, which `cgroup.subtree_control` says. We look from our own group
upwards for such a parent that lets us make a folder, and change nothing in what is there already.
Version 1 (Documentation/admin-guide/cgroup-v1) has a tree of its own for the cpu controller.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from trimtab.errors import UserError

_QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us")


def make_cpu_group(mounts: str | None = None, own: str | None = None) -> Path:
    """Return a new, empty control group whose CPU time can be limited; the caller removes it.

    `mounts` and `own` are the texts of /proc/self/mounts and /proc/self/cgroup. Raises UserError
    when no group can be made, with the folders that were tried.
    """
    mounts = Path("/proc/self/mounts").read_text() if mounts is None else mounts
    own = Path("/proc/self/cgroup").read_text() if own is None else own
    tried = []
    for parent in cpu_parents(mounts, own):
        group = parent / f"trimtab-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            tried.append(f"{parent}: {error.strerror}")
            continue
        if any(os.access(group / name, os.W_OK) for name in _QUOTA_FILES):
            return group
        tried.append(f"{parent}: no CPU quota")
        group.rmdir()
    raise UserError(f"no control group can be made: {'; '.join(tried) or 'no cpu controller'}")


def cpu_parents(mounts: str, own: str) -> Iterator[Path]:
    """Yield the folders in which a group with a CPU quota may be made, nearest first."""
    for root, group, kind in _trees(mounts, own):
        for parent in (group, *group.parents):
            if kind == "cgroup" or "cpu" in _handed_down(parent):
                yield parent
            if parent == root:
                break


def group_of(process: int, group: Path) -> Path:
    """Return the folder of the group that a process is in, in the same tree as `group`.

    Raises ProcessLookupError or FileNotFoundError when the process is gone.
    """
    mounts = Path("/proc/self/mounts").read_text()
    its = Path(f"/proc/{process}/cgroup").read_text()
    return next(folder for root, folder, _ in _trees(mounts, its) if group.is_relative_to(root))


def _trees(mounts: str, groups: str) -> Iterator[tuple[Path, Path, str]]:
    """Yield the trees that may limit CPU time: root, a process' folder, cgroup or cgroup2.

    `groups` is the process' /proc/PID/cgroup.
    """
    by_controller = dict(_groups(groups))
    for line in mounts.splitlines():
        _device, folder, kind, options = line.split()[:4]
        if kind == "cgroup2" and "" in by_controller:
            yield Path(folder), Path(folder) / by_controller[""], kind
        elif kind == "cgroup" and "cpu" in options.split(",") and "cpu" in by_controller:
            yield Path(folder), Path(folder) / by_controller["cpu"], kind


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
