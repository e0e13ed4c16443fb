"""The files that a slim image's programs may ask a store for."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from trimtab.debloating.fallback import FILE_INDEX, SIDECARS, original_in
from trimtab.debloating.file_index.layout import EntryKind
from trimtab.debloating.file_index.reading import entries_of, location_of
from trimtab.debloating.store import DIGEST_BYTES
from trimtab.errors import UserError
from trimtab.images.archives.image import Image
from trimtab.images.contents import contents_of
from trimtab.images.merging import merged_view
from trimtab.images.node import FileType, Inode


@dataclass(frozen=True)
class RemovedPieces:
    """The originals of which pieces were removed: their bytes by the first half of their SHA-256.

    `paths` names one place of each in the image, for messages.
    """

    size_bytes: dict[bytes, int]
    paths: dict[bytes, str]


def removed_pieces(slim: Image) -> RemovedPieces:
    """Return what the slim image needs from a store; empty if it holds its own, or needs none.

    Raises UserError for a damaged index or sidecar, and ImageError as reading the image does.
    """
    files: dict[Inode, str] = {
        node: path
        for path, node in merged_view(slim).walk()
        if node.kind is FileType.FILE
        and (path == f"/{FILE_INDEX}" or PurePosixPath(path).parent == PurePosixPath("/", SIDECARS))
    }
    found = RemovedPieces({}, {})
    for node, pieces in contents_of(slim, files):
        data, path = b"".join(pieces), files[node]
        try:
            _add(found, _of_index(data) if path == f"/{FILE_INDEX}" else _of_sidecar(data, path))
        except (ValueError, struct.error) as error:
            raise UserError(f"{slim.path}: {path}: {error}; make the image slim again") from None
    return found


def _add(found: RemovedPieces, originals: Iterable[tuple[bytes, int, str]]) -> None:
    for name, size_bytes, path in originals:
        if size_bytes:
            found.size_bytes[name] = size_bytes
            found.paths.setdefault(name, path)


def _of_index(data: bytes) -> list[tuple[bytes, int, str]]:
    if not location_of(data):
        return []
    return [
        (entry.digest, entry.size_bytes, entry.path)
        for entry in entries_of(data)
        if entry.kind is EntryKind.REGULAR
    ]


def _of_sidecar(data: bytes, path: str) -> list[tuple[bytes, int, str]]:
    sha256, size_bytes, location = original_in(data)
    return [(sha256[:DIGEST_BYTES], size_bytes, path)] if location else []
