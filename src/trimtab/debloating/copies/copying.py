"""Copy an environment; unchanged files are shared with the original where that is safe."""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import IO

from trimtab.config.groups.debloat import Share
from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.copies.layout import EnvironmentLayout, LayoutEntry, bytecode_may_go
from trimtab.debloating.copies.status import copy_status, give
from trimtab.disk_use import disk_bytes
from trimtab.errors import TrimtabError
from trimtab.files import sha256_of
from trimtab.records.built_environment import LinkedFile
from trimtab.records.manifest import DebloatedFile

_FICLONE = 0x40049409  # ioctl_ficlonerange(2): share the blocks of another file
# Some files cannot be shared, and none across file systems.
_NO_REFLINK_AT_ALL = {errno.EOPNOTSUPP, errno.EXDEV, errno.ENOTTY, errno.ENOSYS}
_NO_REFLINK = {errno.EINVAL, *_NO_REFLINK_AT_ALL}
# Other file systems, files of other users (fs.protected_hardlinks), too many links.
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP}
_NO_SENDFILE = {errno.EINVAL, errno.ENOSYS, errno.EPERM}
# The output of compilers, Python's too: tools never edit it in place, they write and rename it.
_MACHINE_CODE = (b"\x7fELF", b"!<arch>\n")
_BYTECODE_MARK = b"\r\n"  # after two bytes of the version
_PAGE_BYTES = 4096
_SENT_BYTES = 1 << 30
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would block
_WORKERS = min(8, len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class SharedFiles:
    """What a copy of an environment shares with the original.

    `linked`: files with machine code that are hard links to the original's, by path.
    `reflinked_bytes`: bytes of other files that are on disk once.
    """

    linked: dict[str, LinkedFile]
    reflinked_bytes: int


@dataclass
class _Folder:
    """A folder of the environment, and its files and links that the copy gets."""

    entry: LayoutEntry
    files: list[LayoutEntry] = field(default_factory=list)


def copy_tree(
    layout: EnvironmentLayout,
    destination: Path,
    left_out: Container[str],
    share: Share,
    earlier: Path | None = None,
) -> SharedFiles:
    """Copy an environment without the paths `left_out` to the folder `destination`.

    `destination` is new or empty. A folder in `left_out` is left out with its content. `share` says
    how unchanged files are shared; `auto` links no file that anybody edits. Files that would be
    copied are taken from `earlier`, an old copy of the same folder, where neither was changed
    since. Links into the environment lead into the copy, and hard links stay hard links. Sockets,
    pipes, devices and bytecode that disappears meanwhile are not copied. Set-user-ID bits are
    dropped, as the owner may differ; in a root file system files keep them, with owners and
    capabilities, where we have the right to set these. Raises OSError for an unreadable file.
    """
    folders: dict[str, _Folder] = {}
    first: dict[tuple[int, int], LayoutEntry] = {}
    twins: list[tuple[LayoutEntry, LayoutEntry]] = []
    destination.mkdir(0o700, exist_ok=True)  # nobody else may read it until it is complete
    with DirectoryHandle.at(destination) as top, ExitStack() as stack:
        for entry in layout.entries():
            if entry.name in left_out or (entry.name and entry.parent not in folders):
                continue  # a link too: a later file here must not be written through it
            if entry.is_folder:
                folders[entry.name] = _Folder(entry)
                top.folder(entry.name, make=True).close()
            elif _is_twin(entry, first):
                twins.append((entry, first[entry.status.st_dev, entry.status.st_ino]))
            else:
                folders[entry.parent].files.append(entry)
        before = stack.enter_context(DirectoryHandle.at(earlier)) if earlier else None
        taking = _Taking(layout, top, share, before)
        with ThreadPoolExecutor(_WORKERS) as pool:
            list(pool.map(taking.take_over, folders.values()))
        for entry, original in twins:
            taking.take_twin(entry, original)
        for folder in folders.values():  # nothing more is written there
            with bytecode_may_go(folder.entry.path), top.folder(folder.entry.name) as held:
                status = folder.entry.status
                copy_status(folder.entry.path, held.descriptor, status, in_root=layout.is_root)
    return SharedFiles(taking.linked, sum(taking.reflinked.values()))


def _is_twin(entry: LayoutEntry, first: dict[tuple[int, int], LayoutEntry]) -> bool:
    """Whether the entry is a hard link to a file that was seen before."""
    status = entry.status
    if status.st_nlink == 1 or not stat.S_ISREG(status.st_mode):
        return False
    return first.setdefault((status.st_dev, status.st_ino), entry) is not entry


class _Taking:
    """Copies the files of `layout` into `top`."""

    def __init__(
        self,
        layout: EnvironmentLayout,
        top: DirectoryHandle,
        share: Share,
        earlier: DirectoryHandle | None,
    ) -> None:
        self.layout, self.top, self.share, self.earlier = layout, top, share, earlier
        self.linked: dict[str, LinkedFile] = {}
        self.reflinked: dict[str, int] = {}
        self._cannot_reflink: set[int] = set()  # file systems of originals

    def take_over(self, folder: _Folder) -> None:
        """Copy the files of a folder."""
        with ExitStack() as stack:
            held = stack.enter_context(self.top.folder(folder.entry.name))
            before = None
            with suppress(OSError):  # it had no such folder, or now has a link there
                if self.earlier is not None:
                    before = stack.enter_context(self.earlier.folder(folder.entry.name))
            for entry in folder.files:
                with bytecode_may_go(entry.path):
                    self._take(entry, held, before)

    def take_twin(self, entry: LayoutEntry, first: LayoutEntry) -> None:
        """Make the entry a hard link to the copy of `first`, as it is in the original."""
        folder = self.top.folder
        with (
            bytecode_may_go(entry.path),
            folder(entry.parent) as held,
            folder(first.parent) as other,
        ):
            if not other.has(first.base) or not link(first.base, held, entry.base, other):
                self._take(entry, held, None)
            elif first.name in self.linked:
                self.linked[entry.name] = self.linked[first.name]

    def _take(
        self, entry: LayoutEntry, held: DirectoryHandle, before: DirectoryHandle | None
    ) -> None:
        name, path, status = entry.base, entry.path, entry.status
        if entry.is_link:
            held.symlink(self.layout.link_text(entry), name)
            if self.layout.is_root:
                give(name, status, held.descriptor)
        elif not stat.S_ISREG(status.st_mode):
            return  # a socket or pipe of an earlier program
        elif self.share != Share.COPY and self._reflink(entry, held):
            self.reflinked[entry.name] = disk_bytes(status)
        elif self.share == Share.AUTO and (head := _compiled(path)) and link(path, held, name):
            if head.startswith(_MACHINE_CODE):  # Python itself checks compiled files
                self.linked[entry.name] = LinkedFile(status.st_size, status.st_mtime_ns)
        elif before is None or not _link_same(before, entry, held):
            self._copy(entry, held)  # keeps the timestamp that a .pyc names

    def _copy(self, entry: LayoutEntry, held: DirectoryHandle) -> None:
        with _regular(entry.path) as old, held.new_file(entry.base, None) as new:
            try:
                while os.sendfile(new.fileno(), old.fileno(), None, _SENT_BYTES):
                    pass
            except OSError as error:
                if error.errno not in _NO_SENDFILE or os.lseek(old.fileno(), 0, os.SEEK_CUR):
                    raise
                shutil.copyfileobj(old, new)
                new.flush()
            copy_status(
                old.fileno(), new.fileno(), os.fstat(old.fileno()), in_root=self.layout.is_root
            )

    def _reflink(self, entry: LayoutEntry, held: DirectoryHandle) -> bool:
        name, device = entry.base, entry.status.st_dev
        if device in self._cannot_reflink:
            return False
        with _regular(entry.path) as old, held.new_file(name, None) as new:
            try:
                fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
            except OSError as error:
                if error.errno not in _NO_REFLINK:
                    raise
                if error.errno in _NO_REFLINK_AT_ALL:
                    self._cannot_reflink.add(device)
            else:
                copy_status(
                    old.fileno(), new.fileno(), os.fstat(old.fileno()), in_root=self.layout.is_root
                )
                return True
        held.remove(name)
        return False


@contextmanager
def _regular(path: str) -> Iterator[IO[bytes]]:
    """Open a file that was a regular one a moment ago, for reading."""
    with open(os.open(path, _READ), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is no regular file any more", path)
        yield file


def _compiled(path: str) -> bytes:
    """Return the first bytes of objects, libraries, archives of objects and bytecode, else b""."""
    with _regular(path) as file:
        head = file.read(8)
    bytecode = path.endswith(".pyc") and head[2:4] == _BYTECODE_MARK
    return head if bytecode or head.startswith(_MACHINE_CODE) else b""


def link(
    source: Path | str,
    held: DirectoryHandle,
    name: str,
    source_folder: DirectoryHandle | None = None,
) -> bool:
    """Hard-link `name` to `source`, a path or a name in a folder; False where impossible."""
    try:
        held.link(source, name, source_folder)
    except OSError as error:
        if error.errno in _NO_LINK:
            return False
        raise
    return True


def _link_same(earlier: DirectoryHandle, original: LayoutEntry, held: DirectoryHandle) -> bool:
    """Take over the `earlier` copy of a file if it matches the original.

    Modification times can be set, and some installers give all files the same one; the time of the
    last change of any kind (ctime) cannot be set.
    """
    name = original.base
    try:
        status = earlier.status(name)
    except OSError:
        return False
    same = ("st_mode", "st_size", "st_mtime_ns")
    return (
        all(getattr(status, key) == getattr(original.status, key) for key in same)
        and original.status.st_ctime_ns < status.st_ctime_ns
        and link(name, held, name, earlier)
    )


def take_over(libraries: Path, destination: Path, files: Mapping[str, DebloatedFile]) -> None:
    """Put the slim libraries of the folder `libraries` into `destination`, at the same paths.

    They are hard links where the file system allows. Raises TrimtabError unless size and digest are
    those in `files`.
    """
    with DirectoryHandle.at(destination) as top:
        for name, file in files.items():
            slim, path = libraries / name, PurePath(name)
            if not slim.is_file():
                raise TrimtabError(f"{slim}: missing; debloat again")
            if (slim.stat().st_size, sha256_of(slim)) != (file.size_after_bytes, file.sha256_after):
                raise TrimtabError(f"{slim}: was damaged; debloat again")
            with top.folder(path.parent) as folder:
                folder.remove(path.name)
                if not link(slim, folder, path.name):
                    mode = slim.stat().st_mode & 0o777
                    with slim.open("rb") as old, folder.new_file(path.name, mode) as copy:
                        _write_sparsely(old.read, copy, file.size_after_bytes)


def _write_sparsely(read: Callable[[int], bytes], file: IO[bytes], size_bytes: int) -> None:
    """Write pages of zeros as holes; a reader sees no difference."""
    while chunk := read(1 << 22):
        for start in range(0, len(chunk), _PAGE_BYTES):
            page = chunk[start : start + _PAGE_BYTES]
            if page.count(0) == len(page):
                file.seek(len(page), os.SEEK_CUR)
            else:
                file.write(page)
    file.truncate(size_bytes)
