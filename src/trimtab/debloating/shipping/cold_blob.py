"""The cold blob: removed files that no layer in the registry has, in one blob of gzip members."""

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from trimtab.cold_store.index import Checkpoint, ColdLayer
from trimtab.debloating.shipping.found_contents import FoundContents, digests_of
from trimtab.debloating.shipping.removed_pieces import RemovedPieces
from trimtab.debloating.store import stored_contents
from trimtab.errors import UserError

MEDIA_TYPE = "application/vnd.trimtab.cold-files.v1.gzip"
_MEMBER_BYTES = 1 << 20
_LEVEL = 6
_GZIP_HEADER_BYTES = 10  # as gzip.compress writes it: checkpoints are at deflate data


def write_cold_blob(
    file: IO[bytes], wanted: RemovedPieces, store: Path
) -> tuple[ColdLayer, dict[bytes, FoundContents]]:
    """Write the files of `wanted` that the folder `store` has; return the blob and their places.

    Each member of _MEMBER_BYTES of text is a checkpoint,
    so that it is inflated alone. Raises UserError for a damaged store.
    """
    found: dict[bytes, FoundContents] = {}
    blob = _Blob(file)
    for name, size_bytes in wanted.size_bytes.items():
        contents = stored_contents(store, name, size_bytes)
        if contents is None:
            continue
        offset = blob.text_bytes
        digests = digests_of(blob.passing(contents))
        if bytes.fromhex(digests.sha256)[: len(name)] != name:
            raise UserError(
                f"{store}: what it has of {wanted.paths[name]} is damaged; make the image slim"
                " again"
            )
        found[name] = FoundContents(0, offset, size_bytes, digests)
    return blob.finish(), found


class _Blob:
    """The text is cut into members at multiples of _MEMBER_BYTES."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._sha256, self._bytes = file, hashlib.sha256(), 0
        self._pending, self._checkpoints = bytearray(), list[Checkpoint]()
        self.text_bytes = 0

    def passing(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield `pieces`, each after it was added."""
        for piece in pieces:
            self._pending += piece
            self.text_bytes += len(piece)
            while len(self._pending) >= _MEMBER_BYTES:
                self._write(bytes(self._pending[:_MEMBER_BYTES]))
                del self._pending[:_MEMBER_BYTES]
            yield piece

    def finish(self) -> ColdLayer:
        """Write what is pending, and return the blob as a layer."""
        if self._pending:
            self._write(bytes(self._pending))
        return ColdLayer(
            f"sha256:{self._sha256.hexdigest()}",
            self._bytes,
            self.text_bytes,
            "gzip",
            tuple(self._checkpoints),
        )

    def _write(self, text: bytes) -> None:
        offset = len(self._checkpoints) * _MEMBER_BYTES
        self._checkpoints.append(Checkpoint(offset, self._bytes + _GZIP_HEADER_BYTES, 0, 0, 0))
        member = gzip.compress(text, _LEVEL, mtime=0)
        self._sha256.update(member)
        self._bytes += self._file.write(member)
