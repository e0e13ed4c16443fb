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
_NO_EXCHANGE = {errno.ENOENT, errno.EINVAL, errno.ENOSYS}  # nothing to exchange it with, or no way


def replace_folder(new: Path, destination: Path) -> None:
    """Give the folder `new` the name `destination`; what was there goes.

    At every moment one of both, whole, has that name, or where the file system cannot exchange two
    names the earlier one is beside it under `.{name}.outdated`.
    """
    outdated = destination.with_name(f".{destination.name}.outdated")
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    names = (_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(destination), _RENAME_EXCHANGE)
    if not rename(*names):
        remove_tree(new)
    elif (number := ctypes.get_errno()) not in _NO_EXCHANGE:
        raise OSError(number, os.strerror(number), str(destination))
    else:
        if destination.exists():
            remove_tree(outdated)
            destination.rename(outdated)
        new.rename(destination)
    remove_tree(outdated)


def remove_tree(folder: Path) -> None:
    """Remove a folder of ours, if it is there, also where it or others in it are read-only."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except PermissionError:
        folder.chmod(stat.S_IRWXU)
        for path, inner, _, descriptor in os.fwalk(folder):
            os.fchmod(descriptor, stat.S_IRWXU)
            for name in inner:
                if not Path(path, name).is_symlink():
                    Path(path, name).chmod(stat.S_IRWXU)
        shutil.rmtree(folder)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an OSError that names no file, as that of a full disk, name `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def whole_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its name when the block ends well.

    When the block raises, the temporary file is removed and `path` is as it was. `mode` is
    the permission of the new file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, name):
            error.filename, error.filename2 = str(path), None  # a full disk's has none
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
