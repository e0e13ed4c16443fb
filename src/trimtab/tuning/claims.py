"""Which worker has which trial of a search: a lock on a file for each trial that runs.

The locks are flock(2)'s, as those of the journal. The kernel releases them with the process that
holds them, however that ends: a trial whose worker was killed is free at once, and no clock, no
heartbeat and no time limit is needed. All machines have to see them, as they do on NFS version 4
(which releases those of a machine that is gone when its lease is over, after 90 s or so), GPFS,
BeeGFS with its option for it, and CephFS. On file systems that have none, or that are mounted such
that each machine has its own, two machines would train the same trial: those that can be told are
refused.
"""

import os
from pathlib import Path

from trimtab.errors import UserError
from trimtab.locks import try_lock

_MOUNTS = Path("/proc/self/mountinfo")
# Options with which a mount keeps locks on its machine: of NFS, Lustre and OCFS2.
_LOCAL = {"nolock", "local_lock=all", "local_lock=flock", "localflock"}


class Claims:
    """The trials that this worker has of the search whose locks are in `folder`.

    A trial is claimed by one worker at a time. Raises UserError, as all methods do, where the
    folder has no locks.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[int, int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, trial: int) -> bool:
        """Claim a trial; return whether nobody had it, this worker included."""
        if trial in self._held:
            return False
        descriptor = try_lock(self._path(trial))
        if descriptor is not None:
            self._held[trial] = descriptor
        return descriptor is not None

    def is_taken(self, trial: int) -> bool:
        """Whether this worker has a trial, or another that lives."""
        if trial in self._held:
            return True
        descriptor = try_lock(self._path(trial))
        if descriptor is not None:
            os.close(descriptor)
        return descriptor is None

    def give_back(self, trial: int) -> None:
        """Claim a trial, if it was, no more."""
        descriptor = self._held.pop(trial, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Claim nothing any more."""
        for trial in list(self._held):
            self.give_back(trial)

    def _path(self, trial: int) -> Path:
        return self._folder / f"trial_{trial}.lock"


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
