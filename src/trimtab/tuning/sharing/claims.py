"""Which worker has which trial of a search: a lock for each trial that runs.

Where the journal is a file the locks are flock(2)'s, as those of the journal. The kernel releases
them with the process that holds them, however that ends: a trial whose worker was killed is free at
once, and no clock, no heartbeat and no time limit is needed. All machines have to see them, as they
do on NFS version 4 (which releases those of a machine that is gone when its lease is over, after
90 s or so), GPFS, BeeGFS with its option for it, and CephFS. On file systems that are mounted such
that each machine has its own, two machines would train the same trial: those that can be told are
refused, as are those without locks.
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
# Options with which a mount keeps locks on its machine: of NFS, Lustre and OCFS2.
_LOCAL = {"nolock", "local_lock=all", "local_lock=flock", "localflock"}


class Locks(Protocol):
    """A lock for each trial, which ends with the worker that has it."""

    def try_lock(self, trial: int) -> Callable[[], None] | None:
        """Lock a trial; return what unlocks it, or None where another worker has it."""

    def check(self) -> None:
        """Raise UserError where locks that this worker has are known to be others' by now."""


class FileLocks:
    """Locks on files in `folder`, which is made. Raises UserError where that has no locks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def try_lock(self, trial: int) -> Callable[[], None] | None:
        """As every lock's."""
        descriptor = try_lock(self._folder / f"trial_{trial}.lock")
        return None if descriptor is None else partial(os.close, descriptor)

    def check(self) -> None:
        """As every lock's: they last as long as this process."""


class Claims:
    """The trials that this worker has of the search with these locks, each one's alone."""

    def __init__(self, locks: Locks) -> None:
        self._locks = locks
        self._held: dict[int, Callable[[], None]] = {}
        self._checked_at = time.monotonic()

    def take(self, trial: int) -> bool:
        """Claim a trial; return whether nobody had it, this worker included."""
        if trial in self._held:
            return False
        unlock = self._locks.try_lock(trial)
        if unlock is not None:
            self._held[trial] = unlock
        return unlock is not None

    def is_taken(self, trial: int) -> bool:
        """Whether this worker has a trial, or another that lives."""
        if trial in self._held:
            return True
        unlock = self._locks.try_lock(trial)
        if unlock is not None:
            unlock()
        return unlock is None

    def check(self) -> None:
        """Raise UserError, every few seconds, where locks were lost: others train those trials."""
        if time.monotonic() - self._checked_at >= _CHECKED_EVERY_S:
            self._locks.check()
            self._checked_at = time.monotonic()

    def give_back(self, trial: int) -> None:
        """Claim a trial, if it was, no more."""
        unlock = self._held.pop(trial, None)
        if unlock is not None:
            unlock()

    def close(self) -> None:
        """Claim nothing any more."""
        for trial in list(self._held):
            self.give_back(trial)


def check_shared(folder: Path, mounts: Path = _MOUNTS) -> None:
    """Raise UserError where a folder's locks are known to be seen by this machine alone.

    That is where NFS or another network's file system is mounted so; a disk of this machine is none
    of it, as all workers may be on this machine. `mounts` is as Linux' mountinfo.
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
    """Return a path of mountinfo, in which a space is \\040."""
    return text.encode().decode("unicode_escape").encode("latin-1").decode()
