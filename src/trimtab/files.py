"""Files that appear atomically."""

import ctypes
import errno
import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from trimtab.errors import TrimtabError

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # renameat2(2)
_WORKERS = min(8, len(os.sched_getaffinity(0)))
# Names of incomplete files, independent of the final name, which may have the maximum length.
_TEMPORARY, _PARTIAL = ".trimtab-", ".partial"
# No old name, or not supported: sandboxes refuse unknown system calls.
_NO_EXCHANGE = {errno.ENOENT, errno.EINVAL, errno.ENOSYS, errno.EPERM}


def new_folder_beside(destination: Path) -> Path:
    """Make and return a folder beside `destination`, under a temporary name.

    Nobody else may read it until its mode is set. If its maker is killed, `remove_partial` finds
    it. Missing parents are made.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(_PARTIAL, _TEMPORARY, destination.parent))


def remove_partial(folder: Path) -> None:
    """Remove incomplete files and folders of killed processes from `folder`.

    Nobody else may be writing there.
    """
    for path in folder.glob(f"{_TEMPORARY}*{_PARTIAL}"):
        remove_tree(path)


def is_partial(path: Path) -> bool:
    """Return whether a path is an incomplete file or folder."""
    return path.name.startswith(_TEMPORARY) and path.name.endswith(_PARTIAL)


def remove_tree(path: Path) -> None:
    """Remove a folder of ours, even with read-only subfolders, if it exists.

    A link or a file in its place is removed too. Raises OSError for entries that cannot be removed.
    """
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return
    except PermissionError:
        if path.is_symlink():
            raise
        path.chmod(stat.S_IRWXU)
        for folder, inner, _, descriptor in os.fwalk(path):
            os.fchmod(descriptor, stat.S_IRWXU)
            for name in inner:
                if not Path(folder, name).is_symlink():
                    Path(folder, name).chmod(stat.S_IRWXU)
        shutil.rmtree(path)


def replace_folder(new: Path, destination: Path) -> None:
    """Rename the folder `new` to `destination`, which is removed; links are not followed.

    At every moment that name has the complete old or new folder. If the file system cannot exchange
    names, the old folder is briefly beside it under a name that `remove_partial` finds.
    """
    number = _rename_exchanging(new, destination)
    if number == 0:
        remove_tree(new)
    elif number not in _NO_EXCHANGE:
        raise OSError(number, os.strerror(number), str(destination))
    else:
        outdated = new_folder_beside(destination)
        if os.path.lexists(destination):
            destination.rename(outdated / destination.name)
        new.rename(destination)
        remove_tree(outdated)


def _rename_exchanging(new: Path, old: Path) -> int:
    """Exchange two names; return 0, or the errno of the failure."""
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    names = (_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE)
    return ctypes.get_errno() if rename(*names) else 0


@contextmanager
def unless_gone(path: str) -> Iterator[None]:
    """Ignore the error if `path` is missing, as others may remove it at any time."""
    try:
        yield
    except FileNotFoundError:
        if os.path.lexists(path):
            raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add `path` to an OSError without a file name, such as for a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def atomic_write(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path beside `path`, renamed to it when the block succeeds.

    If the block raises, the temporary file is removed and `path` is unchanged. `mode` is the
    permission of the new file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(_PARTIAL, _TEMPORARY, path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, name):
            error.filename, error.filename2 = str(path), None  # a full disk's error has none
        raise


def user_cache() -> Path:
    """Return the user's folder for what can be made again; RuntimeError without a home folder."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    top = Path(caches) if os.path.isabs(caches) else Path.home() / ".cache"  # noqa: PTH117
    return top / "trimtab"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically, faster for many small ones than `atomic_write`: it opens it once."""
    try:
        descriptor, name = tempfile.mkstemp(_PARTIAL, _TEMPORARY, path.parent)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(_PARTIAL, _TEMPORARY, path.parent)
    try:
        with naming(path), open(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, document: Any) -> None:
    """Write `document` as readable JSON with sorted keys."""
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def write_once(path: Path, text: str) -> None:
    """Write a file unless it exists: the first of several simultaneous writers wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=path.parent, suffix=_PARTIAL, prefix=_TEMPORARY) as new:
        new.write(text)
        new.flush()
        os.fchmod(new.fileno(), 0o644)  # others read it too
        with suppress(FileExistsError):
            os.link(new.name, path)


def read_json(path: Path) -> Any:
    """Return the JSON document in `path`."""
    return json.loads(path.read_text())


def open_regular(path: Path, *, follow: bool = True) -> io.BufferedReader:
    """Open a regular file for reading, without blocking; links only with `follow`.

    Raises OSError as open(2) does, and TrimtabError for a folder, a pipe, a socket or a device.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TrimtabError(f"{path}: not a file, but a folder, a pipe, a socket or a device")
    return open(descriptor, "rb")


def read_limited(path: Path, most_bytes: int) -> bytes:
    """Return the bytes of the file at `path`.

    Raises as `open_regular` does, and TrimtabError above `most_bytes`.
    """
    with open_regular(path) as file:
        content = b""
        if os.fstat(file.fileno()).st_size <= most_bytes:
            content = file.read(most_bytes + 1)
            if len(content) <= most_bytes:
                return content
    raise TrimtabError(f"{path}: larger than {most_bytes:,} bytes, the most that is read of such")


def parse_json(text: bytes | str) -> Any:
    """Parse a JSON text; raises ValueError with the reason if it is invalid.

    Duplicate keys and excessive nesting are invalid.
    """
    if isinstance(text, bytes):
        text = text.decode()  # otherwise other encodings would be accepted
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise ValueError(f"the key {twice!r} stands twice in an object")
    return found


_CLOCK_STEP_NS = 20_000_000  # longer than the clock step of file systems
_Identity = tuple[int, int, int, int, int]
_digests: dict[_Identity, str] = {}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal.

    A process reads a file once, unless it changes. The time of its last change of any kind (ctime),
    which nobody can set, shows changes; a very recent one does not, as another change may have the
    same time.
    """
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        before, settled = _identity(status), time.time_ns() - status.st_ctime_ns > _CLOCK_STEP_NS
        digest = _digests.get(before)
        if digest is None:
            read_ahead(file)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if settled and _identity(os.fstat(file.fileno())) == before:
                _digests[before] = digest
        return digest


def read_ahead(file: IO[bytes]) -> None:
    """Tell the system that a file is read sequentially; failures are ignored."""
    with suppress(OSError):
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)


def sha256_of_all(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the SHA-256 of each file, read in parallel; raises OSError as reading does."""
    every = list(paths)
    with ThreadPoolExecutor(_WORKERS) as pool:
        return dict(zip(every, pool.map(sha256_of, every), strict=True))


def _identity(status: os.stat_result) -> _Identity:
    names = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    dev, inode, size_bytes, modified_ns, changed_ns = (getattr(status, name) for name in names)
    return dev, inode, size_bytes, modified_ns, changed_ns
