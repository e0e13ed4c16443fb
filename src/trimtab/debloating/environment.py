"""The slim environment: a runnable copy of the Python prefix with the slim libraries in it."""

import contextlib
import errno
import fcntl
import os
import shutil
import tarfile
from pathlib import Path

from trimtab.debloating.fallback import add_fallback
from trimtab.debloating.prefix import prefix_of
from trimtab.errors import TrimtabError, UserError
from trimtab.files import sha256_of
from trimtab.records.manifest import DebloatedFile, Manifest

_FICLONE = 0x40049409  # ioctl_ficlonerange(2): share the blocks of another file
_NO_REFLINK = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS}
_SCRIPT_BYTES = 1 << 20
_PAGE_BYTES = 4096


def build_environment(
    python: Path,
    libraries_tar: Path,
    manifest: Path,
    share: str,
    destination: Path,
    spans_dir: Path,
    fallback: str,
) -> None:
    """Make `destination` a runnable copy of the environment of `python`, slim libraries inside.

    Unchanged files are shared as `share` says (reflink, else copy; or hardlink). Scripts in `bin`
    that name the old environment name the new one. Calls into what was removed, by the spans in
    `spans_dir`, fall back as `fallback` says (original, packed or none; with mode punch there is
    none). An earlier `destination` is replaced when the new one is whole.

    Raises UserError when `destination` lies inside the environment, or a library there is not the
    one that was debloated, and TrimtabError when an archive member is not the one that the
    manifest lists.
    """
    prefix = prefix_of(python)
    document = Manifest.read(manifest)
    files = document.files
    destination = Path(os.path.abspath(destination))
    if destination.is_relative_to(prefix) or prefix.is_relative_to(destination):
        raise UserError(f"{destination}: inside the environment {prefix} that it is a copy of")
    for name, entry in files.items():
        original = prefix / name
        if not original.is_file() or original.stat().st_size != entry.size_before_bytes:
            raise UserError(f"{original}: not the library that was debloated; profile it again")
    destination.parent.mkdir(parents=True, exist_ok=True)
    partial = destination.with_name(f".{destination.name}.partial")
    _remove(partial)
    try:
        _copy_tree(prefix, partial, set(files), share)
        _extract(libraries_tar, partial, files)
        _name_new_prefix(partial / "bin", prefix, destination)
        if fallback != "none" and document.mode != "punch":
            add_fallback(partial, prefix, spans_dir, manifest, fallback)  # type: ignore[arg-type]
    except BaseException:
        _remove(partial)
        raise
    outdated = destination.with_name(f".{destination.name}.outdated")
    _remove(outdated)
    with contextlib.suppress(FileNotFoundError):
        destination.rename(outdated)
    partial.rename(destination)
    _remove(outdated)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _copy_tree(source: Path, destination: Path, left_out: set[str], share: str) -> None:
    for folder, folders, names in os.walk(source):
        here = Path(folder)
        there = destination / here.relative_to(source)
        there.mkdir(parents=True, exist_ok=True)
        links = [name for name in folders if (here / name).is_symlink()]
        for name in links + names:
            path = here / name
            if path.is_symlink():
                (there / name).symlink_to(_moved_link(path, source, destination))
            elif path.is_file() and str(path.relative_to(source)) not in left_out:
                _share(path, there / name, share)
        shutil.copystat(here, there)


def _moved_link(link: Path, source: Path, destination: Path) -> str:
    """A link's text in the copy: an absolute link into the source points into the copy."""
    text = os.readlink(link)
    if not Path(text).is_absolute() or not Path(text).is_relative_to(source):
        return text
    return os.path.relpath(source / Path(text).relative_to(source), link.parent)


def _share(source: Path, destination: Path, how: str) -> None:
    if how == "hardlink":
        destination.hardlink_to(source)
        return
    if how == "reflink" and _reflink(source, destination):
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


def _extract(archive: Path, destination: Path, files: dict[str, DebloatedFile]) -> None:
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


def _write_sparsely(read, file, size_bytes: int) -> None:  # type: ignore[no-untyped-def]
    """Pages of zeros become holes again: an archive does not remember them."""
    while chunk := read(1 << 22):
        for start in range(0, len(chunk), _PAGE_BYTES):
            page = chunk[start : start + _PAGE_BYTES]
            if page.count(0) == len(page):
                file.seek(len(page), os.SEEK_CUR)
            else:
                file.write(page)
    file.truncate(size_bytes)


def _name_new_prefix(folder: Path, old: Path, new: Path) -> None:
    """Scripts name their environment: `#!ENV/bin/python`, `VIRTUAL_ENV=ENV` in `activate`."""
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _SCRIPT_BYTES:
            continue
        text = path.read_bytes()
        if b"\0" not in text and bytes(old) in text:
            status = path.stat()
            path.unlink()  # it may be shared with the original
            path.write_bytes(text.replace(bytes(old), bytes(new)))
            path.chmod(status.st_mode)
