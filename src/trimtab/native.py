"""The built native tools and libraries, and the way programs load them."""

import ctypes
import hashlib
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from trimtab.errors import UserError
from trimtab.places import IS_CHECKOUT, NATIVE, PROJECT


def native_path(name: str) -> Path:
    """Return the absolute path of a built native file, e.g. `libtrimtab-guard.so`.

    Raises UserError if it was not built.
    """
    path = NATIVE / name
    if not path.is_file():
        if IS_CHECKOUT:
            raise UserError(f"{path}: not built yet; run `make native` in {PROJECT}")
        raise UserError(f"{path}: missing; install trimtab again")
    return path


def record_fields(library: ctypes.CDLL, name: str) -> dict[str, list[str]]:
    """Return the fields of a library's records, as `f8:name`, from its text `name`."""
    begin = ctypes.c_char.in_dll(library, name)
    lines = ctypes.string_at(ctypes.addressof(begin)).decode().splitlines()
    return {record: fields for record, *fields in map(str.split, lines)}


@cache
def survive_truncation() -> None:
    """Read truncated mapped files as zeros past their end, which readers detect.

    Without the native library, from `make native`, SIGBUS ends the process.
    """
    library = NATIVE / "libtrimtab-truncation.so"
    if library.is_file():
        ctypes.CDLL(str(library)).trimtab_survive_truncation()


def with_preload(environment: Mapping[str, str], library: Path) -> dict[str, str]:
    """Return `environment` with `library` preloaded, before other preloaded libraries."""
    preloaded = environment.get("LD_PRELOAD")
    first = loadable(library)
    return {**environment, "LD_PRELOAD": f"{first}:{preloaded}" if preloaded else first}


def loadable(library: Path) -> str:
    """Return a path of `library` for the dynamic linker's variables.

    These separate paths by spaces and colons (ld.so(8)). A library with these in its path gets a
    link for the life of this process. Raises UserError if the folder for temporary files has such a
    path.
    """
    path = str(library)
    if not _separates(path):
        return path
    link = Path(_links().name, f"{hashlib.sha256(path.encode()).hexdigest()[:16]}.so")
    if _separates(str(link)):
        raise UserError(f"{link.parent}: TMPDIR has to be a path without spaces and colons")
    if not link.is_symlink():
        link.symlink_to(library)
    return str(link)


def _separates(path: str) -> bool:
    return any(character in ":;" or character.isspace() for character in path)


def native_folders() -> tuple[Path, ...]:
    """Return the folders of all paths from `native_path` and `loadable`."""
    links = (Path(_links().name),) if _links.cache_info().currsize else ()
    return (NATIVE, *links)


@cache
def _links() -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="trimtab-")
    Path(folder.name).chmod(0o755)  # programs of other users follow them too
    return folder
