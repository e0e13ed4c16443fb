"""Files that appear whole or not at all."""

import ctypes
import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # renameat2(2)
# Names of what is not whole yet, whatever its own is: that may be as long as names can be.
_TEMPORARY, _PARTIAL = ".trimtab-", ".partial"
_NO_EXCHANGE = {errno.ENOENT, errno.EINVAL, errno.ENOSYS}  # nothing to exchange it with, or no way


def new_folder_beside(destination: Path) -> Path:
    """Make and return a folder for what is to become `destination`, with a name of its own.

    Nobody else may read it until its mode is set. Where its maker is killed `remove_partial` finds
    it. Folders above it are made.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(_PARTIAL, _TEMPORARY, destination.parent))


def remove_partial(folder: Path) -> None:
    """Remove what killed makers of files and folders left half done in `folder`.

    Nobody else may be writing there.
    """
    for path in folder.glob(f"{_TEMPORARY}*{_PARTIAL}"):
        remove_tree(path)


def remove_tree(path: Path) -> None:
    """Remove a folder of ours, also one with read-only folders, if it is there.

    Of a link in its place the link is removed, and a file as well. Raises OSError for what cannot
    be removed.
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
    """Give the folder `new` the name `destination`; what was there goes, of a link the link.

    At every moment one of both, whole, has that name, or where the file system cannot exchange two
    names the earlier one is beside it under a name that `remove_partial` finds.
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
    """Exchange two names and return 0, or why that is not possible (errno)."""
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    names = (_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE)
    return ctypes.get_errno() if rename(*names) else 0


@contextmanager
def whole_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its name when the block ends well.

    When the block raises, the temporary file is removed and `path` is as it was. `mode` is
    the permission of the new file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(_PARTIAL, _TEMPORARY, path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, document: Any) -> None:
    """Write `document` as readable JSON with a stable order of keys."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def read_json(path: Path) -> Any:
    """Return the JSON document in `path`."""
    return json.loads(path.read_text())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
