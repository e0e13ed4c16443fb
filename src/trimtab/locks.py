"""One writer at a time in a folder: a lock that ends with its owner, even if it is killed.

It is flock(2) on a file in the folder, which the kernel releases with the process; on NFS it holds
for all hosts. The file names the holder, for error messages, and is removed on a regular release. A
leftover file is not a lock.

Elsewhere are locks that others take too: of the fallbacks' state (debloating.files.forgetting), of
a file that keeps frequencies (execution.sprinting.frequencies), of PostgreSQL (tuning.sharing).
"""

import errno
import fcntl
import os
import re
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from trimtab.errors import UserError
from trimtab.files import naming, remove_partial

LOCK = ".trimtab.lock"
_PATIENCE_S = 3.0  # a killed process needs a moment to end
_POLL_S = 0.02
_LONGEST_TEXT = 512
_OWNER = re.compile(r"process (\d{1,9}) on ([\w.-]{1,255}) since ([\d :-]{19} UTC)\n")
_HELD = {errno.EAGAIN, errno.EACCES}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}  # EPERM: a sandbox


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder` in the block, for writing or for consistent reading.

    The folder is made; incomplete files of a killed holder are removed. Raises UserError, which
    names the holder, if it is locked. Also if `folder` is no folder or does not support locks.
    """
    with file_lock(folder / LOCK, f"{folder}: another trimtab is at work in it"):
        remove_partial(folder)
        yield


@contextmanager
def file_lock(
    path: Path, said: str, patience_s: float = _PATIENCE_S, *, stays: bool = False
) -> Iterator[None]:
    """Hold the lock `path` in the block; missing parent folders are made.

    With `stays` its file stays, for hosts that take turns: NFS caches a folder for seconds, so the
    next host could lock a removed file while another locks a new one.

    Raises UserError, which begins with `said` and names the holder, if it is held for longer than
    `patience_s`.
    """
    made = not path.parent.exists()
    if made:
        path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _locked(path, said, patience_s)
    try:
        started = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        owner = f"process {os.getpid()} on {socket.gethostname()} since {started}\n"
        with naming(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, owner.encode(), 0)
        yield
    finally:
        with suppress(OSError):  # the folder may be gone
            if not stays:
                path.unlink()
            if made:
                path.parent.rmdir()  # if nothing was written
        os.close(descriptor)


def lock_of(path: Path) -> Path:
    """Return the lock of a file, which lies beside it."""
    return path.with_name(f"{path.name}.lock")


def try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock `path` until it is closed; None if it is held.

    The folder has to exist. Raises UserError if it does not support locks.
    """
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is(path, descriptor):
            return descriptor
    except OSError as error:
        if error.errno in _NO_LOCKS:
            os.close(descriptor)
            raise UserError(
                f"{path.parent}: on a file system without locks (flock), so that two could"
                " write in it at once; use a folder on another one"
            ) from None
        if error.errno not in _HELD:
            os.close(descriptor)
            raise
    os.close(descriptor)
    return None


def _locked(path: Path, said: str, patience_s: float) -> int:
    deadline = time.monotonic() + patience_s
    while (descriptor := try_lock(path)) is None:
        if time.monotonic() > deadline:
            raise UserError(f"{said}: {_holder(path)}")
        time.sleep(_POLL_S)
    return descriptor


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o644)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            raise UserError(f"{path.parent}: not a folder; name another") from None
        if error.errno not in {errno.ELOOP, errno.EISDIR, errno.ENXIO}:
            raise
    raise UserError(f"{path}: not a file of trimtab's, but in the place of its lock; remove it")


def _is(path: Path, descriptor: int) -> bool:
    """Whether `path` is still the open file: a holder removes it before its release."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    descriptor = _opened(path)
    text = os.pread(descriptor, _LONGEST_TEXT, 0).decode(errors="replace")
    os.close(descriptor)
    known = _OWNER.fullmatch(text)
    if not known:
        return "a process that has not said yet which; wait for its end"
    number, host, since = known.groups()
    here = host == socket.gethostname()
    there = "" if here else f" on the host {host}"
    end = f"`kill {number}`" + ("" if here else " there")
    return f"process {number}{there}, since {since}; wait for its end, or end it with {end}"
