"""A slim environment that grew, as programs brought files back, becomes what was delivered."""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path, PurePath

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.records.misses.brought_back import STATE_FILE, BroughtBack, brought_back


def forget_brought_back(debloated: Path) -> BroughtBack:
    """Remove from `debloated`/env what came back; return what that was.

    It comes back again for who asks for it. Folders stay that hold files of programs' own.
    """
    came = brought_back(debloated)
    if not came.paths:
        return came
    with DirectoryHandle.at(debloated / "env") as top, (top.path / STATE_FILE).open("r+b") as state:
        fcntl.flock(state, fcntl.LOCK_EX)  # as programs do that bring something back
        for path in sorted(came.paths, reverse=True):  # what is in a folder before the folder
            with suppress(OSError):  # a folder that is not empty, or something else meanwhile
                _remove(top, PurePath(path))
        os.pwrite(state.fileno(), bytes(os.fstat(state.fileno()).st_size), 0)
    return came


def _remove(top: DirectoryHandle, path: PurePath) -> None:
    with top.folder(path.parent) as folder:
        before = os.fstat(folder.descriptor)
        if stat.S_ISDIR(folder.status(path.name).st_mode):
            os.rmdir(path.name, dir_fd=folder.descriptor)
        else:
            os.unlink(path.name, dir_fd=folder.descriptor)
        os.utime(folder.descriptor, ns=(before.st_atime_ns, before.st_mtime_ns))
