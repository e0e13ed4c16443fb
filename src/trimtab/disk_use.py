"""What files and folders take of a disk."""

import os
from collections.abc import Iterable
from pathlib import Path

from trimtab.files import unless_gone


def disk_bytes(status: os.stat_result) -> int:
    """Return the bytes on disk of what has a status, in blocks of 512 bytes as stat(2) counts."""
    return status.st_blocks * 512


def disk_use(folders: Iterable[Path]) -> dict[tuple[int, int], int]:
    """Return the bytes on disk of the files and folders at and below `folders`, as `du` counts.

    Files are told apart by device and inode: a file with several names counts once.
    """
    waiting = [os.fspath(folder) for folder in folders]
    here = [Path(folder).lstat() for folder in waiting]
    found = {(each.st_dev, each.st_ino): disk_bytes(each) for each in here}
    while waiting:
        folder = waiting.pop()
        with unless_gone(folder), os.scandir(folder) as entries:
            for entry in entries:
                with unless_gone(entry.path):
                    status = entry.stat(follow_symlinks=False)
                    found[status.st_dev, status.st_ino] = disk_bytes(status)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return found
