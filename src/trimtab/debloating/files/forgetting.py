"""Reset a slim environment in which files were restored to its delivered state."""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path, PurePath

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.records.misses.brought_back import STATE_FILE, BroughtBack, brought_back


def forget_brought_back(debloated: Path) -> BroughtBack:
    """Remove the restored files from `debloated`/env; return them.

    They are restored again on demand. Folders that hold a program's own files stay.
    """
    came = brought_back(debloated)
    if not came.paths:
        return came
    with DirectoryHandle.at(debloated / "env") as top, (top.path / STATE_FILE).open("r+b") as state:
        fcntl.flock(state, fcntl.LOCK_EX)  # programs that restore a file take this lock too
        for path in sorted(came.paths, reverse=True):  # content before its folder
            with suppress(OSError):  # a folder that is not empty, or was replaced meanwhile
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
