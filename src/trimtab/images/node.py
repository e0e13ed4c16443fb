"""Nodes of an image's file system."""

import stat
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

NO_LAYER = -1


class FileType(StrEnum):
    """The kinds of files that Unix has."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    CHARACTER_DEVICE = "character device"
    BLOCK_DEVICE = "block device"
    PIPE = "named pipe"
    OTHER = "other"  # such as a socket: in no archive


KINDS = {
    stat.S_IFREG: FileType.FILE,
    stat.S_IFDIR: FileType.FOLDER,
    stat.S_IFLNK: FileType.LINK,
    stat.S_IFCHR: FileType.CHARACTER_DEVICE,
    stat.S_IFBLK: FileType.BLOCK_DEVICE,
    stat.S_IFIFO: FileType.PIPE,
}  # by what stat.S_IFMT says; else OTHER


@dataclass(slots=True, eq=False)
class Inode:
    """An inode: all properties of a file, link or device except its names.

    `mode` has the permission bits, with setuid, setgid and sticky. `target` is a link's text,
    `device` the major and minor number. A file's content begins at `offset` of the uncompressed
    `layer`, unless `local` names a file outside the image that has it. For a sparse file,
    `segments` are the offset and length of each stored run of bytes; the rest of its `size_bytes`
    are zeros. `layer` is NO_LAYER if no layer has an entry for it.
    """

    kind: FileType
    mode: int
    uid: int = 0
    gid: int = 0
    mtime_ns: int = 0
    size_bytes: int = 0
    target: str = ""
    device: tuple[int, int] = (0, 0)
    xattrs: tuple[tuple[str, bytes], ...] = ()
    segments: tuple[tuple[int, int], ...] | None = None
    layer: int = NO_LAYER
    offset: int = 0
    local: Path | None = None

    @property
    def stored_bytes(self) -> int:
        """The number of bytes that its layer stores."""
        if self.segments is None:
            return self.size_bytes
        return sum(length for _, length in self.segments)


@dataclass(slots=True, eq=False)
class Folder(Inode):
    """A folder, with its entries by name."""

    children: dict[str, Inode] = field(default_factory=dict)


def implied_folder() -> Folder:
    """Return a folder without an entry in any layer, with the attributes that engines give it."""
    return Folder(FileType.FOLDER, 0o755)
