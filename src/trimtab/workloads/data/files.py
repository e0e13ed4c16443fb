"""A local copy of a data set, a folder or a tar archive, as named files."""

import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path

from trimtab.workloads.data import InputError


def names(path: Path) -> list[str]:
    """Return the sorted relative names of the files in a folder or tar archive.

    Raises InputError when `path` is neither.
    """
    if path.is_dir():
        return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
    try:
        with tarfile.open(path) as archive:
            return sorted(member.name for member in archive if member.isfile())
    except (OSError, EOFError, zlib.error, tarfile.TarError):
        raise InputError(f"--data {path}: neither a folder nor a tar archive") from None


def read(path: Path, wanted: Collection[str]) -> dict[str, bytes]:
    """Return the content of the `wanted` files of a folder or tar archive by name."""
    if path.is_dir():
        return {name: (path / name).read_bytes() for name in wanted}
    content = {}
    wanted = set(wanted)
    # In the archive's order: going back in a compressed archive decompresses it from the start.
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name in wanted else None
            if file is not None:
                content[member.name] = file.read()
    return content
