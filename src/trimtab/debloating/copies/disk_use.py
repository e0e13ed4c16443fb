"""What a folder takes of a disk."""

from trimtab.debloating.copies.layout import Layout


def disk_use(layout: Layout) -> dict[tuple[int, int], int]:
    """Return the bytes on disk of the files and folders of an environment, as `du` counts.

    They are by device and inode: a file with several names is there once.
    """
    return {
        (entry.status.st_dev, entry.status.st_ino): entry.status.st_blocks * 512
        for entry in layout.entries()
    }
