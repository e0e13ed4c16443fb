"""Extract a view, or a part of it, to a folder on disk."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from trimtab.errors import UserError
from trimtab.files import naming, new_folder_beside, remove_tree
from trimtab.images.archives.image import Image
from trimtab.images.contents import contents_of
from trimtab.images.node import FileType, Inode
from trimtab.images.selection import ViewSelection, select
from trimtab.images.view import View

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DEVICES = {FileType.CHARACTER_DEVICE: stat.S_IFCHR, FileType.BLOCK_DEVICE: stat.S_IFBLK}
_MAY_NOT = {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.EINVAL}
_OTHERS_RIGHTS = stat.S_ISUID | stat.S_ISGID


@dataclass
class LeftOut:
    """What the user may not create in a folder, by path; root may create all of it on most systems.

    A file whose owner could not be set belongs to the user, without setuid and setgid bits.
    """

    owners: list[str] = field(default_factory=list)
    xattrs: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)


def extract(image: Image, view: View, folder: Path, kept: Iterable[str] | None = None) -> LeftOut:
    """Extract the paths `kept` of `view`, or all, to the new folder `folder`; return the rest.

    The folder appears atomically. Nothing is written outside it: links are made last. Raises
    UserError if its name exists, as `select` and `contents_of` do, and OSError as the system does.
    """
    if os.path.lexists(folder):
        raise UserError(f"{folder}: there is something of this name; choose a new folder")
    selection = select(view, kept)
    partial = new_folder_beside(folder)
    try:
        with naming(folder):
            left_out = _Extracting(partial).extract(image, selection)
        partial.rename(folder)
    except BaseException:
        remove_tree(partial)
        raise
    return left_out


class _Extracting:
    """Writes into `top`, a new folder that no other user may read."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.left_out = LeftOut()
        self.may_own = os.geteuid() == 0

    def extract(self, image: Image, selection: ViewSelection) -> LeftOut:
        for name in selection.folders:
            if name:
                self._path(name).mkdir(0o700)
        for node, pieces in contents_of(image, selection.files):
            self._write(selection.files[node], node, pieces)
        for node, name in selection.others.items():
            self._make(name, node)
        for name, _, first in selection.hard_links:
            if os.path.lexists(self._path(first)):  # a device that was not made has no links
                os.link(self._path(first), self._path(name), follow_symlinks=False)
            else:
                self.left_out.devices.append(f"/{name}")
        for name, folder in reversed(selection.folders.items()):  # content changes times
            self._describe(name, folder, self._path(name))
        return self.left_out

    def _path(self, name: str) -> Path:
        return self.top / name if name else self.top

    def _write(self, name: str, node: Inode, pieces: Iterator[bytes]) -> None:
        with open(os.open(f"{self.top}/{name}", _NEW, 0o600), "wb") as file:
            for piece in placed(file, node, pieces):
                file.write(piece)
            if node.segments is None:
                file.flush()  # later writes would reset times and attributes
            else:
                file.truncate(node.size_bytes)
            self._describe(name, node, file.fileno())

    def _make(self, name: str, node: Inode) -> None:
        path = self._path(name)
        if node.kind is FileType.LINK:
            path.symlink_to(node.target)
        elif node.kind is FileType.PIPE:
            os.mkfifo(path, 0o600)
        else:
            try:
                os.mknod(path, _DEVICES[node.kind] | 0o600, os.makedev(*node.device))
            except OSError as error:
                if error.errno not in _MAY_NOT:
                    raise
                self.left_out.devices.append(f"/{name}")
                return
        self._describe(name, node, path)

    def _describe(self, name: str, node: Inode, place: Path | int) -> None:
        """Set the owner first, which resets rights and attributes, then these, and the times last.

        `place` is the path of the new entry, or its descriptor.
        """
        follow = node.kind is not FileType.LINK
        owned = self._own(name, node, place, follow)
        for key, value in node.xattrs:
            with self._unless_refused(name, self.left_out.xattrs):
                os.setxattr(place, key, value, follow_symlinks=follow)
        mode = node.mode if owned else node.mode & ~_OTHERS_RIGHTS
        if isinstance(place, int):
            os.fchmod(place, mode)
        elif follow:
            place.chmod(mode)
        os.utime(place, ns=(node.mtime_ns, node.mtime_ns), follow_symlinks=follow)

    def _own(self, name: str, node: Inode, place: Path | int, follow: bool) -> bool:
        if (node.uid, node.gid) == (os.geteuid(), os.getegid()):
            return True
        if self.may_own:
            refused = len(self.left_out.owners)
            with self._unless_refused(name, self.left_out.owners):
                os.chown(place, node.uid, node.gid, follow_symlinks=follow)
            return len(self.left_out.owners) == refused
        self.left_out.owners.append(f"/{name}")
        return False

    @contextmanager
    def _unless_refused(self, name: str, refused: list[str]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in _MAY_NOT:
                raise
            if refused[-1:] != [f"/{name}"]:  # one entry for all attributes of a file
                refused.append(f"/{name}")


def placed(file: IO[bytes], node: Inode, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces with the file positioned for each; a sparse file's pieces are apart."""
    if node.segments is None:
        yield from pieces
        return
    rest = b""
    for offset, length in node.segments:
        file.seek(offset)
        while length:
            rest = rest or next(pieces)
            piece, rest = rest[:length], rest[length:]
            length -= len(piece)
            yield piece
    for _ in pieces:  # yields nothing, but raises if pieces are missing
        pass
