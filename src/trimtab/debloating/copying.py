"""Copying an environment: what stays is shared, and the slim libraries are unpacked into it."""

import errno
import fcntl
import os
import shutil
import tarfile
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import IO

from trimtab.config.groups.debloat import Share
from trimtab.errors import TrimtabError
from trimtab.files import sha256_of
from trimtab.records.manifest import DebloatedFile

_FICLONE = 0x40049409  # ioctl_ficlonerange(2): share the blocks of another file
_NO_REFLINK = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS}
_PAGE_BYTES = 4096


def copy_tree(source: Path, destination: Path, left_out: Container[str], share: Share) -> None:
    """Copy the folder `source`, but for the files of `left_out`, to `destination`.

    Unchanged files are shared as `share` says: reflink where the file system can, else a copy; or
    hardlink. Links that lead into the source lead into the copy.
    """
    for folder, folders, names in os.walk(source):
        here = Path(folder)
        there = destination / here.relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        links = [name for name in folders if (here / name).is_symlink()]
        for name in links + names:
            path = here / name
            if str(path.relative_to(source)) in left_out:
                continue  # a link too: what is written there is not written where it leads
            if path.is_symlink():
                (there / name).symlink_to(_moved_link(path, source, destination))
            elif path.is_file():
                _share(path, there / name, share)
        shutil.copystat(here, there)


def _moved_link(link: Path, source: Path, destination: Path) -> str:
    """A link's text in the copy: an absolute link into the source points into the copy."""
    text = os.readlink(link)
    if not Path(text).is_absolute() or not Path(text).is_relative_to(source):
        return text
    return os.path.relpath(source / Path(text).relative_to(source), link.parent)


def _share(source: Path, destination: Path, how: Share) -> None:
    if how == Share.HARDLINK:
        destination.hardlink_to(source)
        return
    if how == Share.REFLINK and _reflink(source, destination):
        shutil.copystat(source, destination)
    else:
        shutil.copy2(source, destination)  # keeps the time stamp that a .pyc names


def _reflink(source: Path, destination: Path) -> bool:
    with source.open("rb") as old, destination.open("wb") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError as error:
            if error.errno in _NO_REFLINK:
                return False
            raise
    return True


def extract(archive: Path, destination: Path, files: Mapping[str, DebloatedFile]) -> None:
    """Unpack the slim libraries of `archive`; raises TrimtabError unless they are `files`."""
    with tarfile.open(archive) as tar:
        members = {member.name: member for member in tar.getmembers()}
        if set(members) != set(files):
            raise TrimtabError(f"{archive}: other libraries than its manifest lists")
        for name, member in members.items():
            source = tar.extractfile(member)
            if source is None:
                raise TrimtabError(f"{archive}: {name} is not a regular file")
            path = destination / name
            with source, path.open("wb") as file:
                _write_sparsely(source.read, file, member.size)
            path.chmod(member.mode)
            if sha256_of(path) != files[name].sha256_after:
                raise TrimtabError(f"{archive}: {name} was damaged; debloat again")


def _write_sparsely(read: Callable[[int], bytes], file: IO[bytes], size_bytes: int) -> None:
    """Pages of zeros become holes again: an archive does not remember them."""
    while chunk := read(1 << 22):
        for start in range(0, len(chunk), _PAGE_BYTES):
            page = chunk[start : start + _PAGE_BYTES]
            if page.count(0) == len(page):
                file.seek(len(page), os.SEEK_CUR)
            else:
                file.write(page)
    file.truncate(size_bytes)
