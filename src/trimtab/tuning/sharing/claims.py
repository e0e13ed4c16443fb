"""Which worker has which trial of a search: a lock for each trial that runs.

Where the journal is a file, the locks are flock(2) locks, as the journal's. The kernel releases
them when their process ends, however it ends. A trial of a killed worker is free at once, without
clock, heartbeat or time limit. All machines have to see the locks. They do on GPFS, CephFS, BeeGFS
with its option, and NFS version 4. NFS releases the locks of a lost machine with its lease, after
about 90 s. With locks local to each node, two machines would train the same trial. Such mounts are
refused where they can be detected, as are file systems without locks.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from trimtab.errors import UserError
from trimtab.locks import try_lock

_MOUNTS = Path("/proc/self/mountinfo")
_CHECKED_EVERY_S = 5.0
# Mount options that make locks local to a machine: of NFS, Lustre and OCFS2.
_LOCAL = {"nolock", "local_lock=all", "local_lock=flock", "localflock"}


class Locks(Protocol):
    """A lock for each trial, released with the worker that holds it."""

    def try_lock(self, trial: int) -> Callable[[], None] | None:
        """Lock a trial; return its unlock function, or None where another worker holds it."""

    def check(self) -> None:
        """Raise UserError where this worker is known to have lost its locks."""


class FileLocks:
    """File locks in `folder`, which it creates. Raises UserError where locks are unsupported."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def try_lock(self, trial: int) -> Callable[[], None] | None:
        """Implement `Locks.try_lock`."""
        descriptor = try_lock(self._folder / f"trial_{trial}.lock")
        return None if descriptor is None else partial(os.close, descriptor)

    def check(self) -> None:
        """Do nothing: file locks last as long as this process."""


class Claims:
    """The trials that this worker has claimed with these locks."""

    def __init__(self, locks: Locks) -> None:
        self._locks = locks
        self._held: dict[int, Callable[[], None]] = {}
        self._checked_at = time.monotonic()

    def take(self, trial: int) -> bool:
        """Claim a trial; return whether it was free."""
        if trial in self._held:
            return False
        unlock = self._locks.try_lock(trial)
        if unlock is not None:
            self._held[trial] = unlock
        return unlock is not None

    def is_taken(self, trial: int) -> bool:
        """Whether this worker, or another live one, holds a trial."""
        if trial in self._held:
            return True
        unlock = self._locks.try_lock(trial)
        if unlock is not None:
            unlock()
        return unlock is None

    def check(self) -> None:
        """Check every few seconds; raises UserError for lost locks, whose trials others train."""
        if time.monotonic() - self._checked_at >= _CHECKED_EVERY_S:
            self._locks.check()
            self._checked_at = time.monotonic()

    def give_back(self, trial: int) -> None:
        """Release a trial, if it is claimed."""
        unlock = self._held.pop(trial, None)
        if unlock is not None:
            unlock()

    def close(self) -> None:
        """Release all trials."""
        for trial in list(self._held):
            self.give_back(trial)


def check_shared(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Raise UserError where a folder's locks are known to be local to this machine.

    This depends on the mount of a network file system such as NFS. A local disk is accepted, as all
    workers may be on this machine. `mounts` has the format of Linux' mountinfo.
    """
    where = folder.resolve()
    found: tuple[Path, str, str, set[str]] | None = None
    for line in mounts.read_text().splitlines():
        before, _, behind = line.partition(" - ")
        point = Path(_unescaped(before.split()[4]))
        kind, source, *options = behind.split(" ")
        if where.is_relative_to(point) and (found is None or point.is_relative_to(found[0])):
            found = point, kind, source, set(",".join(options).split(","))
    if found is not None and (local := found[3] & _LOCAL):
        point, kind, source, _ = found
        raise UserError(
            f"{folder}: on {kind} ({source} on {point}) mounted with {', '.join(sorted(local))}, so"
            " that machines do not see each other's locks and would train the same trials; mount it"
            " without, or set experiment.tune.machines to 1"
        )


def _unescaped(text: str) -> str:
    """Decode a path of mountinfo, in which a space is \\040."""
    return text.encode().decode("unicode_escape").encode("latin-1").decode()
