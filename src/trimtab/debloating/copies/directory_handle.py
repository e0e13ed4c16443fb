"""Writing below a folder that is being made, so that no link leads a write out of it.

A folder is held by its descriptor, and reached from one that is held by a component at a time:
none of them may be a link, also not one that appears meanwhile. Files are made anew and never
opened where they are, as what is there may be shared with the original.
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
    """A folder by its descriptor, as a block at whose end it is closed.

    A `name` is of one component, `below` of several. What fails raises OSError with the whole path.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self.descriptor = path, descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        """Hold the folder at `path`, which is no link; its parents may be."""
        return cls(path, os.open(path, _FOLDER))

    @classmethod
    def make(cls, path: Path) -> Self:
        """Hold the new folder `path`, which is made, or empty already; nobody else may look in.

        Raises FileExistsError where it holds something, and OSError where it cannot be made.
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
        """Let go of it."""
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
        """Hold a folder below this one; with `make` those that are missing are made.

        Raises OSError for a link, and ValueError for a path that leads out by its text.
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
        """Return the paths below it that match `pattern`, with no link before the last component.

        Where one leads to another place inside, the path is the one without it.
        """
        top = self.path.resolve()
        found = {path.parent.resolve() / path.name for path in self.path.glob(pattern)}
        found = {path for path in found if path.is_relative_to(top)}
        return [path.relative_to(top) for path in sorted(found)]

    def status(self, name: str) -> os.stat_result:
        """Return what `name` is; a link is told of, not what it leads to."""
        with self._named(name):
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def has(self, name: str) -> bool:
        """Return whether anything has the name."""
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
        """Make a file, which goes again when the block raises; nothing may have the name.

        Its permissions become `mode`; where that is None the block gives it those.
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
        """Have a new file of `data` in place of what has the name, if anything has."""
        self.remove(name)
        with self.new_file(name, mode) as file:
            file.write(data)

    def link(self, source: Path | str, name: str, source_folder: Self | None = None) -> None:
        """Make `name` one file with `source`, a path or a name in `source_folder`."""
        origin = None if source_folder is None else source_folder.descriptor
        with self._named(name):
            os.link(
                source, name, src_dir_fd=origin, dst_dir_fd=self.descriptor, follow_symlinks=False
            )

    def symlink(self, text: str, name: str) -> None:
        """Make a link."""
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
