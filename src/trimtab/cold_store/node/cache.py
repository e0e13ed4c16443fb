"""A bounded folder of contents by their SHA-256: the least recently used leave it first."""

import fcntl
import hashlib
import os
import re
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

_NAME = re.compile(r"[0-9a-f]{64}")
_PARTIAL = ".partial"
_BLOCK_BYTES = 4096
_NOT_CHECKED = float("-inf")
_CHECKED_FOR_S = 600.0  # a disk may damage what it has


class CacheInUseError(OSError):
    """A folder that another server uses, or that cannot be used; the message says which."""


@dataclass
class _Entry:
    size_bytes: int
    checked_until_s: float

    @property
    def disk_bytes(self) -> int:
        return -(-self.size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES


class Cache:
    """The contents in `folder`, which use at most `most_bytes` of the disk. Thread-safe.

    A content is checked by its digest when this process first reads it, and every ten minutes. One
    process has the folder, until its end: raises CacheInUseError.
    """

    def __init__(self, folder: Path, most_bytes: int, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._folder, self._most_bytes = folder, most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self.used_bytes = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._held = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._find()
        except BlockingIOError:
            raise CacheInUseError(
                f"{folder}: another server uses it; stop that one, or name another folder"
            ) from None
        except OSError as error:
            raise CacheInUseError(f"{folder}: {error.strerror}; name another folder") from None

    def has(self, sha256: str) -> bool:
        """Tell whether a content is kept; it may turn out to be damaged."""
        return sha256 in self._entries

    def opened(self, sha256: str) -> FileIO | None:
        """Return a content as an open file, or None; a damaged one is removed."""
        with self._lock:
            entry = self._entries.get(sha256)
            if entry is None:
                return None
            self._entries.move_to_end(sha256)
        try:
            file = FileIO(self._path(sha256))
        except OSError:
            self._forget(sha256)
            return None
        if not self._is_whole(file, sha256, entry):
            file.close()
            self._forget(sha256)
            return None
        with suppress(OSError):  # so that the order survives this process
            os.utime(file.fileno())
        return file

    def put(self, sha256: str, data: bytes) -> None:
        """Keep a content, whose digest was checked, if the disk has room for it."""
        entry = _Entry(len(data), self._clock() + _CHECKED_FOR_S)
        if entry.disk_bytes > self._most_bytes or self.has(sha256):
            return
        path = self._path(sha256)
        partial = path.with_name(f"{_PARTIAL}{threading.get_ident()}")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            partial.write_bytes(data)
            partial.rename(path)
        except OSError:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            return
        with self._lock:
            if sha256 not in self._entries:
                self._entries[sha256] = entry
                self.used_bytes += entry.disk_bytes
        self._make_room()

    def remove(self, sha256: str) -> None:
        """Remove a content that turned out to be damaged."""
        self._forget(sha256)

    def close(self) -> None:
        """Let another process have the folder."""
        os.close(self._held)

    def _is_whole(self, file: FileIO, sha256: str, entry: _Entry) -> bool:
        now_s = self._clock()
        if now_s >= entry.checked_until_s:
            try:
                digest = hashlib.sha256(file.read()).hexdigest()
                file.seek(0)
            except OSError:  # the disk cannot read it
                return False
            if digest != sha256:
                return False
            entry.checked_until_s = now_s + _CHECKED_FOR_S
        return os.fstat(file.fileno()).st_size == entry.size_bytes

    def _find(self) -> None:
        """Take over what an earlier process left, and remove what it did not finish."""
        found = []
        for path in self._folder.glob("??/*"):
            if path.name.startswith(_PARTIAL):
                path.unlink()
            elif _NAME.fullmatch(name := f"{path.parent.name}{path.name}"):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):  # a pipe would be waited for
                    found.append((status.st_mtime_ns, name, status.st_size))
        for _, name, size_bytes in sorted(found):
            self._entries[name] = entry = _Entry(size_bytes, _NOT_CHECKED)
            self.used_bytes += entry.disk_bytes
        self._make_room()

    def _make_room(self) -> None:
        while self.used_bytes > self._most_bytes:
            with self._lock:
                oldest = next(iter(self._entries), None)
            if oldest is None:
                return
            self._forget(oldest)

    def _forget(self, sha256: str) -> None:
        with self._lock:
            if entry := self._entries.pop(sha256, None):
                self.used_bytes -= entry.disk_bytes
                with suppress(OSError):
                    self._path(sha256).unlink(missing_ok=True)

    def _path(self, sha256: str) -> Path:
        return Path(f"{self._folder}/{sha256[:2]}/{sha256[2:]}")
