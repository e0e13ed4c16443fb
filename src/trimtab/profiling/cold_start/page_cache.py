"""Find how much of some files is in memory, and remove it from there.

Programs start fast from files in memory. Before a cold start each file is written to its disk,
evicted from the page cache (posix_fadvise(2), POSIX_FADV_DONTNEED), and checked (mincore(2)). This
needs no privilege and evicts no other files; cached names and folders stay. `drop_caches`
(proc_sys_vm(5)) empties all caches of the whole machine, and takes root.

A page that a server sent by sendfile(2) is part of a packet. Linux may keep the packet, after it
was received, until the sender's processor handles another one (net/core/skbuff.c,
skb_attempt_defer_free). So each processor sends one before a file is said to stay.
"""

import ctypes
import mmap
import os
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import TrimtabError, UserError

PAGE_BYTES = mmap.PAGESIZE
CHUNK_BYTES = 4 << 20  # the most that eStargz and zstd:chunked fetch of a file at a time
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_TRIES = 3
_THERE = bytes(flags & 1 for flags in range(256))  # the other bits are reserved
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)


@dataclass(frozen=True)
class Chunk:
    """A chunk of the file at `path`: CHUNK_BYTES from `first_byte` on, or less at its end."""

    path: Path
    first_byte: int
    size_bytes: int


@dataclass(frozen=True)
class InMemory:
    """The part of some files in the page cache.

    `files` is the number of files with a page there, `file_bytes` their length, `page_bytes` the
    bytes there. `chunks` are their chunks with a page there.
    """

    files: int
    file_bytes: int
    page_bytes: int
    chunks: tuple[Chunk, ...]

    @property
    def chunk_bytes(self) -> int:
        """The length of the chunks."""
        return sum(chunk.size_bytes for chunk in self.chunks)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the regular files below `folder` that are not empty; hard links come once."""
    seen = set()
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_size and status.st_ino not in seen:
                        seen.add(status.st_ino)
                        yield Path(entry.path)


def evict(files: Iterable[Path]) -> None:
    """Evict `files` from the page cache.

    Raises TrimtabError for a file that stays there: it lies in memory (tmpfs), or somebody uses it.
    """
    left = [path for path in files if not _evicted(path)]  # starts to write modified pages
    for _ in range(_TRIES):
        if left:
            _free_received_packets()
        left = [path for path in left if not _evicted(path, written=True)]
    if left:
        raise TrimtabError(
            f"{left[0]}: stays in memory, so that no cold start can be measured with it: it lies"
            " in a file system that is memory, or another program uses it; name a folder on a disk"
        )


def drop_caches() -> None:
    """Empty the machine's page cache and its cache of names and folders.

    Raises UserError without root.
    """
    os.sync()
    try:
        _DROP_CACHES.write_text("3")
    except OSError as error:
        raise UserError(
            f"{_DROP_CACHES}: {error.strerror}: the caches of the machine are emptied by root only;"
            " files of the image alone are taken out of the page cache by default"
        ) from None


def in_memory(files: Iterable[Path]) -> InMemory:
    """Return the part of `files` in the page cache; the caller has to own them or be root."""
    count = file_bytes = page_bytes = 0
    chunks: list[Chunk] = []
    for path in files:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            pages, size_bytes = _pages(descriptor)
        finally:
            os.close(descriptor)
        if found := sum(pages):
            count += 1
            file_bytes += size_bytes
            page_bytes += min(found * PAGE_BYTES, size_bytes)
            per_chunk = CHUNK_BYTES // PAGE_BYTES
            for first in range(0, len(pages), per_chunk):
                if any(pages[first : first + per_chunk]):
                    begin = first * PAGE_BYTES
                    chunks.append(Chunk(path, begin, min(CHUNK_BYTES, size_bytes - begin)))
    return InMemory(count, file_bytes, page_bytes, tuple(chunks))


def _evicted(path: Path, *, written: bool = False) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if written:
            os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return not any(_pages(descriptor)[0])
    finally:
        os.close(descriptor)


def _free_received_packets() -> None:
    """Have each processor handle a packet, with which it frees those that others received."""
    processors = os.sched_getaffinity(0)  # of this thread
    try:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind(("127.0.0.1", 0))
            for processor in processors:
                os.sched_setaffinity(0, {processor})
                own.sendto(b"", own.getsockname())
    finally:
        os.sched_setaffinity(0, processors)


def _pages(descriptor: int) -> tuple[bytes, int]:
    """Return a byte for each page of a file, 1 if it is in memory, and the file's size."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return b"", 0
    address = _libc.mmap(None, status.st_size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        pages = ctypes.create_string_buffer(-(-status.st_size // PAGE_BYTES))
        if _libc.mincore(address, status.st_size, pages):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return pages.raw.translate(_THERE), status.st_size
    finally:
        _libc.munmap(address, status.st_size)
