"""The identity of the original environment that a slim one depends on, and its check.

A slim environment that restores pieces from the original needs it unchanged. Its programs check
this at their start, with a file in the layout of `native/original_identity/original_identity.h`.
"""

import os
import struct
from collections.abc import Collection, Iterator
from pathlib import Path

from trimtab.debloating.files.packages import conda_files
from trimtab.debloating.files.python_distributions import Distributions
from trimtab.debloating.files.tree import FileTree, joined
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.records.built_environment import (
    BuiltEnvironment,
    FileIdentity,
    OriginalIdentity,
    PackageRecord,
)

_MAGIC = b"TRIMTABI"
_HEADER = struct.Struct("<8s4I")  # file bytes, rows of places and packages, offset of the path
_PLACE = struct.Struct("<Qq2I")
_PACKAGE = struct.Struct("<QQq4I16s")
_HEAD_BYTES, _DIGEST_BYTES, _NS = 8192, 16, 1_000_000_000
# Installing or removing a package changes the times of these.
_INSTALLED_INTO = (
    "lib/python3*/site-packages", "conda-meta", "usr/lib/python3*/*-packages",
    "usr/local/lib/python3*/*-packages", "opt/*/lib/python3*/site-packages",
)  # fmt: skip
_RECORDS = ("RECORD", "installed-files.txt", "PKG-INFO", "METADATA")  # the first that exists


def identity_of(original: Path, tree: FileTree, lost: Collection[str]) -> OriginalIdentity:
    """Return the identity of `original`, whose tree is `tree`, as it is now.

    `lost` are paths below it that lost content or were removed: it includes their packages.
    """
    root = original.resolve()
    found = {place for pattern in _INSTALLED_INTO for place in root.glob(pattern)}
    places = sorted(place for place in found if place.is_dir() and not place.is_symlink())
    records = sorted(set(_records_of(tree, {f"/{name}" for name in lost})))
    return OriginalIdentity(
        location=str(root),
        places=[_place(root, place) for place in places or [root]],
        packages=[_package(root, name, record[1:]) for name, record in records],
    )


def _place(root: Path, place: Path) -> FileIdentity:
    status = place.stat()
    return FileIdentity(str(place.relative_to(root)), status.st_ino, status.st_mtime_ns)


def _package(root: Path, name: str, record: str) -> PackageRecord:
    status, digest = (root / record).stat(), sha256_of(root / record)
    return PackageRecord(record, status.st_ino, status.st_mtime_ns, name, status.st_size, digest)


def _records_of(tree: FileTree, lost: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the record of each package of the paths `lost`."""
    of_conda = {path: (name, record) for path, record, name in conda_files(tree)}
    distributions = Distributions.of(tree)
    for path in lost:
        if path in of_conda:
            yield of_conda[path]
        elif (metadata := distributions.metadata_of.get(path)) is not None:
            name = _with_version(metadata)
            at = (joined(metadata, record) for record in _RECORDS)
            record = next((path for path in at if path in tree.nodes), metadata)
            if record not in tree.names:
                yield name, record


def _with_version(metadata: str) -> str:
    """Return the package of a metadata folder with its version, such as `pillow 12.0.0`."""
    return Path(metadata).stem.replace("-", " ", 1)


def identity_bytes(identity: OriginalIdentity) -> bytes:
    """Return the file with which programs of the slim environment check the original."""
    root, text = identity.location, bytearray()
    begin = _HEADER.size + _PLACE.size * len(identity.places)

    def put(words: str) -> int:
        place = begin + len(text)
        text.extend(os.fsencode(words) + b"\0")
        return place

    location = put(root)
    places = [
        _PLACE.pack(each.file, *divmod(each.modified_ns, _NS), put(f"{root}/{each.path}"))
        for each in identity.places
    ]
    if begin + len(text) > _HEAD_BYTES:
        return b""  # paths are too long
    packages = [
        _PACKAGE.pack(
            each.file, each.size_bytes, *divmod(each.modified_ns, _NS),
            put(f"{root}/{each.path}"), put(each.name), 0,
            bytes.fromhex(each.sha256)[:_DIGEST_BYTES],
        )
        for each in identity.packages
    ]  # fmt: skip
    text.extend(bytes(-(begin + len(text)) % 8))
    file_bytes = begin + len(text) + _PACKAGE.size * len(packages)
    header = _HEADER.pack(_MAGIC, file_bytes, len(places), len(packages), location)
    return b"".join((header, *places, text, *packages))


def check_original(record: Path) -> None:
    """Raise UserError with the problem from `problem_of_original`, if any."""
    if (problem := problem_of_original(record)) is not None:
        raise UserError(problem)


def problem_of_original(record: Path) -> str | None:
    """Return why the original of a slim environment is missing or changed, in words, or None.

    `record` is the environment's environment.json. An environment that needs no original has no
    problem.
    """
    identity = BuiltEnvironment.read(record).original if record.is_file() else None
    if identity is None:
        return None
    root = Path(identity.location)
    begin = f"the original environment {root}, on which this slim one depends,"
    end = "or run `trimtab debloat` again (with --fallback packed it depends on nothing)"
    if not root.is_dir():
        return f"{begin} is missing or cannot be reached. Put it back, {end}"
    if all(_is_unchanged(root, place) for place in identity.places):
        return None
    others = [each.name for each in identity.packages if not _is_same(root, each)]
    if not others:
        return None
    said = f"{others[0]} is no longer there as it was. Install it again as it was"
    if more := len(others) - 1:
        said = f"{others[0]} and {more} more packages are no longer there as they were."
        said += " Install them again as they were"
    return f"{begin} was changed: {said}, {end}"


def _is_unchanged(root: Path, expected: FileIdentity) -> bool:
    try:
        return _place(root, root / expected.path) == expected
    except OSError:
        return False


def _is_same(root: Path, expected: PackageRecord) -> bool:
    """Whether the package's record, which has the digests of its files, is unchanged."""
    try:
        status = (root / expected.path).stat()
        now = (status.st_ino, status.st_size, status.st_mtime_ns)
        if now == (expected.file, expected.size_bytes, expected.modified_ns):
            return True
        same_size = status.st_size == expected.size_bytes
        return same_size and sha256_of(root / expected.path) == expected.sha256
    except OSError:
        return False
