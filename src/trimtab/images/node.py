"""What a name in an image's file system stands for."""

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
    """An inode: all that there is to say of a file, link or device besides its names.

    `mode` has the permission bits, with setuid, setgid and sticky. `target` is a link's text,
    `device` the major and minor number. The content of a file begins at `offset` of the
    uncompressed `layer`, unless `local` names a file outside the image that holds it; of a sparse
    file, `segments` are the offset and length of each run of bytes that is stored, the rest of its
    `size_bytes` being zeros. `layer` is NO_LAYER for what no layer has an entry of.
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
        """How many bytes its layer has of it."""
        if self.segments is None:
            return self.size_bytes
        return sum(length for _, length in self.segments)


@dataclass(slots=True, eq=False)
class Folder(Inode):
    """A folder, with what is in it by name."""

    children: dict[str, Inode] = field(default_factory=dict)


def implied_folder() -> Folder:
    """Return a folder that no layer has an entry of, as engines make it for what is in it."""
    return Folder(FileType.FOLDER, 0o755)
