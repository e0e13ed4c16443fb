"""Write below a new folder so that no link leads a write out of it.

A folder is held by its descriptor and opened one component at a time: no component may be a link,
not even one that appears meanwhile. Files are created and never opened for writing in place, as an
existing file may be shared with the original.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Self

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would block


class DirectoryHandle:
    """A folder held by its descriptor; a context manager that closes it.

    A `name` has one component, `below` may have several. Failures raise OSError with the whole
    path.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self.descriptor = path, descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        """Hold the folder at `path`, which is no link; its parents may be links."""
        return cls(path, os.open(path, _FOLDER))

    @classmethod
    def make(cls, path: Path) -> Self:
        """Make and hold the folder `path`, which may exist if empty; no other user may read it.

        Raises FileExistsError if it is not empty, and OSError if it cannot be made.
        """
        with suppress(FileExistsError):
            path.mkdir(0o700)
        held = cls.at(path)
        if os.listdir(held.descriptor):
            held.close()
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        os.fchmod(held.descriptor, 0o700)
        return held

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    @contextmanager
    def _named(self, name: str) -> Iterator[str]:
        if name in ("", ".", "..") or "/" in name:
            raise ValueError(f"{name!r} is no name of something in {self.path}")
        try:
            yield name
        except OSError as error:
            if error.filename in (None, name) or error.filename2 == name:
                error.filename, error.filename2 = str(self.path / name), None
            raise

    def folder(self, below: PurePath | str = ".", *, make: bool = False) -> Self:
        """Hold a folder below this one; `make` creates missing folders.

        Raises OSError for a link, and ValueError for a path with `..` that leads out.
        """
        held = type(self)(self.path, os.dup(self.descriptor))
        for name in PurePath(below).parts:
            with held:
                held = held._inner(name, make)
        return held

    def _inner(self, name: str, make: bool) -> Self:
        with self._named(name):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=self.descriptor)
            return type(self)(self.path / name, os.open(name, _FOLDER, dir_fd=self.descriptor))

    def matching(self, pattern: str) -> list[PurePath]:
        """Return the paths below that match `pattern`, without links before the last component.

        A path through a link to another place inside is returned with that link resolved.
        """
        top = self.path.resolve()
        found = {path.parent.resolve() / path.name for path in self.path.glob(pattern)}
        found = {path for path in found if path.is_relative_to(top)}
        return [path.relative_to(top) for path in sorted(found)]

    def status(self, name: str) -> os.stat_result:
        """Return the status of `name`; links are not followed."""
        with self._named(name):
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def has(self, name: str) -> bool:
        """Return whether `name` exists."""
        try:
            self.status(name)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes:
        """Return the bytes of a regular file; raises OSError for a link."""
        with self._named(name), open(os.open(name, _READ, dir_fd=self.descriptor), "rb") as file:
            return file.read()

    @contextmanager
    def new_file(self, name: str, mode: int | None = 0o644) -> Iterator[IO[bytes]]:
        """Create a file, and remove it again if the block raises; `name` must not exist.

        Its permissions become `mode`; with None the block sets them.
        """
        with self._named(name):
            descriptor = os.open(name, _NEW, 0o600, dir_fd=self.descriptor)
            try:
                with open(descriptor, "wb") as file:
                    yield file
                    if mode is not None:
                        os.fchmod(descriptor, mode)
            except BaseException:
                self.remove(name)
                raise

    def write(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Replace `name`, if it exists, by a new file with `data`."""
        self.remove(name)
        with self.new_file(name, mode) as file:
            file.write(data)

    def link(self, source: Path | str, name: str, source_folder: Self | None = None) -> None:
        """Make `name` a hard link to `source`, a path or a name in `source_folder`."""
        origin = None if source_folder is None else source_folder.descriptor
        with self._named(name):
            os.link(
                source, name, src_dir_fd=origin, dst_dir_fd=self.descriptor, follow_symlinks=False
            )

    def symlink(self, text: str, name: str) -> None:
        """Make a symbolic link."""
        with self._named(name):
            os.symlink(text, name, dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, a link or a whole folder, if it is there."""
        with self._named(name):
            if not self.has(name):
                return
            if stat.S_ISDIR(self.status(name).st_mode):
                shutil.rmtree(name, dir_fd=self.descriptor)
            else:
                os.unlink(name, dir_fd=self.descriptor)
