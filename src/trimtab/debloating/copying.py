"""Copying an environment: what stays is shared with the original where that is safe."""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from trimtab.config.groups.debloat import Share
from trimtab.errors import TrimtabError
from trimtab.files import sha256_of
from trimtab.records.built_environment import LinkedFile
from trimtab.records.manifest import DebloatedFile

_FICLONE = 0x40049409  # ioctl_ficlonerange(2): share the blocks of another file
_NO_REFLINK = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS}
# Other file systems, files of others (fs.protected_hardlinks), and as many links as there may be.
_NO_LINK = {errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP}
# What compilers write, Python's too: no tool edits it in place, each writes it anew and renames it.
_MACHINE_CODE = (b"\x7fELF", b"!<arch>\n")
_BYTECODE_MARK = b"\r\n"  # behind two bytes of a version
_PAGE_BYTES = 4096
_WORKERS = min(8, len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class SharedFiles:
    """What a copy of a folder has in common with it.

    `linked` are the files with machine code that are one with the original's, by path;
    `reflinked_bytes` of others are on disk once.
    """

    linked: dict[str, LinkedFile]
    reflinked_bytes: int


def copy_tree(
    source: Path,
    destination: Path,
    left_out: Container[str],
    share: Share,
    earlier: Path | None = None,
) -> SharedFiles:
    """Copy the folder `source`, but for the files of `left_out`, to `destination`.

    Unchanged files are shared as `share` says; `auto` links none that anybody edits. Those that are
    copied are taken from `earlier`, a copy of the same folder that is about to go, where neither
    was changed since. Links that lead into the source lead into the copy. Raises OSError for what
    cannot be read.
    """
    folders, files = [], []
    for folder, inner, names in os.walk(source, onerror=_raise):
        here = Path(folder).relative_to(source)
        folders.append(here)
        (destination / here).mkdir(parents=True, exist_ok=True)
        links = [name for name in inner if (source / here / name).is_symlink()]
        # A link too is left out: what is written there is not written where it leads.
        files += [here / name for name in links + names if str(here / name) not in left_out]
    linked: dict[str, LinkedFile] = {}
    reflinked: dict[str, int] = {}

    def take_over(name: Path) -> None:
        path, copy = source / name, destination / name
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            copy.symlink_to(_moved_link(path, source, destination))
        elif not stat.S_ISREG(status.st_mode):
            return  # a socket or pipe of a program that ran
        elif share != Share.COPY and _reflink(path, copy):
            shutil.copystat(path, copy)
            reflinked[str(name)] = status.st_blocks * 512
        elif share == Share.AUTO and (head := _compiled(path)) and link(path, copy):
            if head.startswith(_MACHINE_CODE):  # Python itself checks what it compiled
                linked[str(name)] = LinkedFile(status.st_size, status.st_mtime_ns)
        elif not (earlier and _link_same(earlier / name, status, copy)):
            shutil.copy2(path, copy)  # keeps the time stamp that a .pyc names

    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(take_over, files))
    for here in folders:  # now that nothing is written there any more
        shutil.copystat(source / here, destination / here)
        (destination / here).chmod((destination / here).stat().st_mode | stat.S_IRWXU)
    return SharedFiles(linked, sum(reflinked.values()))


def _raise(error: OSError) -> None:
    raise error


def _moved_link(path: Path, source: Path, destination: Path) -> str:
    """A link's text in the copy: an absolute link into the source points into the copy."""
    text = os.readlink(path)
    if not Path(text).is_absolute() or not Path(text).is_relative_to(source):
        return text
    return os.path.relpath(source / Path(text).relative_to(source), path.parent)


def _reflink(source: Path, destination: Path) -> bool:
    with source.open("rb") as old, destination.open("wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError as error:
            if error.errno in _NO_REFLINK:
                return False
            raise
    return True


def _compiled(path: Path) -> bytes:
    """Return the first bytes of objects, libraries, archives of objects and bytecode, else b""."""
    with path.open("rb") as file:
        head = file.read(8)
    bytecode = path.suffix == ".pyc" and head[2:4] == _BYTECODE_MARK
    return head if bytecode or head.startswith(_MACHINE_CODE) else b""


def link(source: Path, destination: Path) -> bool:
    """Make `destination`, which may be there, one file with `source`; False where none can."""
    destination.unlink(missing_ok=True)
    try:
        destination.hardlink_to(source)
    except OSError as error:
        if error.errno in _NO_LINK:
            return False
        raise
    return True


def _link_same(earlier: Path, original: os.stat_result, destination: Path) -> bool:
    """Take over the `earlier` copy of a file if it is as the original is.

    Dates of contents can be set, and some installers give all files one; those of a file's last
    change of any kind (ctime) cannot.
    """
    try:
        status = earlier.lstat()
    except OSError:
        return False
    same = ("st_mode", "st_size", "st_mtime_ns")
    return (
        all(getattr(status, key) == getattr(original, key) for key in same)
        and original.st_ctime_ns < status.st_ctime_ns
        and link(earlier, destination)
    )


def take_over(libraries: Path, destination: Path, files: Mapping[str, DebloatedFile]) -> None:
    """Have the slim libraries of the folder `libraries` in `destination` too, by their path.

    They are the same files where the file system allows. Raises TrimtabError unless they are what
    `files` says.
    """
    for name, file in files.items():
        slim, path = libraries / name, destination / name
        if not slim.is_file():
            raise TrimtabError(f"{slim}: missing; debloat again")
        if (slim.stat().st_size, sha256_of(slim)) != (file.size_after_bytes, file.sha256_after):
            raise TrimtabError(f"{slim}: was damaged; debloat again")
        if not link(slim, path):
            with slim.open("rb") as source, path.open("wb") as copy:
                _write_sparsely(source.read, copy, file.size_after_bytes)
            shutil.copymode(slim, path)


def _write_sparsely(read: Callable[[int], bytes], file: IO[bytes], size_bytes: int) -> None:
    """Pages of zeros become holes again, which reading does not show."""
    while chunk := read(1 << 22):
        for start in range(0, len(chunk), _PAGE_BYTES):
            page = chunk[start : start + _PAGE_BYTES]
            if page.count(0) == len(page):
                file.seek(len(page), os.SEEK_CUR)
            else:
                file.write(page)
    file.truncate(size_bytes)
