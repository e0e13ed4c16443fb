"""What a folder takes of a disk."""

import os
from pathlib import Path


def disk_use(folder: Path) -> dict[tuple[int, int], int]:
    """Return the bytes on disk of the files and folders at and below `folder`, as `du` counts.

    They are by device and inode: a file with several names is there once.
    """
    here = folder.lstat()
    found = {(here.st_dev, here.st_ino): here.st_blocks * 512}
    folders = [os.fspath(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return found
