"""Safe reading of files that a traced, untrusted program may have written.

It may leave a FIFO, a link to /dev/zero, a folder, a sparse file of a terabyte, or a million files.
Nothing here blocks, follows a link out of a folder, or reads without a limit.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO
from pathlib import Path

from trimtab.errors import TrimtabError, UserError
from trimtab.files import open_regular, remove_tree

_NOT_WAITING = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
MOST_PATH_BYTES = 4 * 4096  # PATH_MAX is 4096; a relative path may start at one as long


class UntrustedFileError(UserError):
    """A program left an unreadable file; the message begins with its path."""


@contextmanager
def open_untrusted(
    path: Path, most_bytes: int, *, follow: bool = False
) -> Iterator[BufferedReader]:
    """Yield the regular file at `path`, open for reading, of at most `most_bytes`.

    A link in the last component is followed only with `follow`. Raises FileNotFoundError if it is
    missing, and UntrustedFileError for any other kind of file. Later writes may make it longer:
    readers have to stop at the limit.
    """
    with _opened(path, follow) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes > most_bytes:
            raise UntrustedFileError(
                f"{path}: {size_bytes} bytes, expected at most {most_bytes}; nothing of it is read"
            )
        yield file


def read_untrusted(path: Path, most_bytes: int) -> bytes:
    """Return the content of the regular file at `path`, at most `most_bytes`; follows no link.

    Raises FileNotFoundError if it is missing, and UntrustedFileError for any other kind of file.
    """
    with open_untrusted(path, most_bytes) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise UntrustedFileError(f"{path}: more than {most_bytes} bytes, and growing")
    return data


def lines_of_untrusted(path: Path, most_bytes: int, most_lines: int) -> Iterator[bytes]:
    """Yield the complete lines of the regular file at `path`, without their ends.

    An incomplete last line is left out: its writer was killed. Raises as `read_untrusted` does, and
    UntrustedFileError past `most_bytes` or `most_lines`.
    """
    left_bytes, left_lines = most_bytes, most_lines
    with open_untrusted(path, most_bytes) as file:
        while (line := file.readline(left_bytes + 1)).endswith(b"\n") or len(line) > left_bytes:
            left_bytes -= len(line)
            left_lines -= 1
            if left_bytes < 0 or left_lines < 0:
                raise UntrustedFileError(
                    f"{path}: more than {most_bytes} bytes or {most_lines} lines"
                )
            yield line[:-1]


def last_bytes_of(path: Path, count: int) -> bytes:
    """Return the last `count` bytes of a program's log; none unless it is a regular file."""
    try:
        with _opened(path, follow=False) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - count))
            return file.read(count)
    except (OSError, UntrustedFileError):
        return b""


def names_in_untrusted(folder: Path, most_names: int) -> list[str]:
    """Return the names in `folder`, sorted; none if `folder` is missing.

    Raises UntrustedFileError if it is a link or no folder, or holds more than `most_names`.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | _NOT_WAITING
    try:
        descriptor = os.open(folder, flags)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UntrustedFileError(f"{folder}: cannot be listed: {error.strerror}") from None
    try:
        names = []
        with os.scandir(descriptor) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > most_names:
                    raise UntrustedFileError(f"{folder}: holds more than {most_names} files")
    finally:
        os.close(descriptor)
    return sorted(names)


def is_plain_path(text: object) -> bool:
    """Whether `text` is an absolute path as in the kernel's notation: no NUL, `..`, `.` or `//`."""
    if not isinstance(text, str) or not text.startswith("/") or "\0" in text:
        return False
    if text.startswith("//"):  # normpath keeps it, as POSIX gives it a special meaning
        return False
    try:
        return len(os.fsencode(text)) < MOST_PATH_BYTES and os.path.normpath(text) == text
    except UnicodeEncodeError:
        return False


def remove_existing(path: Path) -> None:
    """Remove the entry at `path` of any kind; the target of a link stays.

    Raises TrimtabError if it cannot be removed.
    """
    try:
        remove_tree(path)
    except OSError as error:
        raise TrimtabError(
            f"{error.filename or path}: what an earlier run left there cannot be removed:"
            f" {error.strerror}"
        ) from None


def new_folder(path: Path) -> None:
    """Make `path` an empty folder, after removing any earlier entry."""
    remove_existing(path)
    path.mkdir(parents=True)


def new_file(path: Path) -> FileIO:
    """Open a new file at `path` for writing, unbuffered, after removing any earlier entry."""
    remove_existing(path)
    return open(path, "xb", buffering=0)


def _opened(path: Path, follow: bool) -> BufferedReader:
    try:
        return open_regular(path, follow=follow)
    except FileNotFoundError:
        raise
    except TrimtabError:
        raise UntrustedFileError(f"{path}: is no regular file") from None
    except (OSError, ValueError) as error:
        what = "is a symbolic link" if getattr(error, "errno", 0) == errno.ELOOP else str(error)
        raise UntrustedFileError(f"{path}: expected a regular file: {what}") from None
