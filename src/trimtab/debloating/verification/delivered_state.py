"""Keep a slim environment in its delivered state: restored files are removed again."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.fallback import FILE_INDEX
from trimtab.debloating.file_index.reading import paths_of

_STATE = "files.state"
_STAND_INS = "stand-ins"  # native/file_fallback/stand_in.h
_AWAY, _BACK = 0, 1


@contextmanager
def as_delivered(environment: Path) -> Iterator[None]:
    """At the end of the block, remove the files that were restored in it.

    Programs have to end within the block. Files restored before stay, and so do folders that gained
    other content. Without an index of removed files nothing is done.
    """
    ours = environment / FILE_INDEX.parent
    if not (ours / _STATE).is_file():
        yield
        return
    before = (ours / _STATE).read_bytes()
    stood = _names(ours / _STAND_INS)
    try:
        yield
    finally:
        now = bytearray((ours / _STATE).read_bytes())
        paths = paths_of((environment / FILE_INDEX).read_bytes())
        news = [at for at, state in enumerate(now) if (before[at], state) == (_AWAY, _BACK)]
        with DirectoryHandle.at(environment) as top:
            for at in sorted(news, key=lambda at: paths[at], reverse=True):  # content first
                if _put_away(top, Path(paths[at])):
                    now[at] = _AWAY
        for name in _names(ours / _STAND_INS) - stood:
            (ours / _STAND_INS / name).unlink()
        if news:
            with (ours / _STATE).open("r+b") as file:
                file.write(now)


def _names(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.is_dir() else set()


def _put_away(top: DirectoryHandle, path: Path) -> bool:
    """Remove the entry at a path; return whether it is gone. Its folder keeps its times."""
    with suppress(FileNotFoundError), top.folder(path.parent) as folder:
        times = os.fstat(folder.descriptor)
        try:
            if stat.S_ISDIR(folder.status(path.name).st_mode):
                os.rmdir(path.name, dir_fd=folder.descriptor)
            else:
                folder.remove(path.name)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        os.utime(folder.descriptor, ns=(times.st_atime_ns, times.st_mtime_ns))
    return True
