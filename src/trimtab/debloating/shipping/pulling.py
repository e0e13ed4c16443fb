"""Fill a store from a registry, for containers that reach no registry."""

import hashlib
from collections.abc import Iterable
from operator import attrgetter
from pathlib import Path

from trimtab.cold_store.index import (
    MOST_INDEX_BYTES,
    OBJECT_BYTES,
    ColdFile,
    ColdIndex,
    DamagedIndexError,
)
from trimtab.cold_store.registry import Registry
from trimtab.debloating.shipping.names import RegistryName
from trimtab.debloating.store import store_object
from trimtab.errors import UserError
from trimtab.images.compression import Compression, decompressed
from trimtab.images.errors import DamagedError
from trimtab.images.tar.stream import ByteStream


def index_at(registry: Registry, line: str) -> ColdIndex:
    """Return the cold index of the label or file `line`, HOST/REPOSITORY@DIGEST.

    Raises UserError for a damaged one, and RegistryError if the registry fails.
    """
    name = RegistryName.parse(line)
    if name.host != registry.host:
        raise UserError(
            f"{line}: its cold index is not in {registry.host}; pull the image from {name.host}, or"
            f" push it to {registry.host} with `trimtab image push`"
        )
    try:
        return ColdIndex.parse(registry.blob(name.repository, name.reference, MOST_INDEX_BYTES))
    except DamagedIndexError as error:
        raise UserError(f"{line}: {error}") from None


def fill_store(registry: Registry, repository: str, index: ColdIndex, store: Path) -> int:
    """Write all that `index` names into the folder `store`; return the bytes.

    Each layer is read once, in order. Every object is checked before it is written. Raises
    UserError for a damaged layer, and RegistryError if the registry fails.
    """
    by_layer: dict[int, list[tuple[str, ColdFile]]] = {}
    for sha256, file in index.files.items():
        by_layer.setdefault(file.layer, []).append((sha256, file))
    for number, files in sorted(by_layer.items()):
        layer = index.layers[number]
        chunks = registry.blob_chunks(repository, layer.digest, layer.size_bytes)
        try:
            _store_files(store, chunks, Compression(layer.compression), files)
        except DamagedError as error:
            raise UserError(f"{registry.host}/{repository}: {layer.digest}: {error}") from None
    return sum(file.size_bytes for file in index.files.values())


def _store_files(
    store: Path,
    chunks: Iterable[bytes],
    compression: Compression,
    files: list[tuple[str, ColdFile]],
) -> None:
    pieces = iter(decompressed(chunks, compression))
    stream = ByteStream(lambda: next(pieces, b""))
    for sha256, file in sorted(files, key=lambda each: attrgetter("offset")(each[1])):
        if file.offset < stream.position:
            raise DamagedError("holds files of the index that overlap")
        stream.skip(file.offset - stream.position)
        for number, expected in enumerate(file.objects):
            left = file.offset + file.size_bytes - stream.position
            data = stream.take_all(min(OBJECT_BYTES, left))
            if hashlib.sha256(data).hexdigest() != expected:
                raise DamagedError("holds other bytes than the index names")
            store_object(store, bytes.fromhex(sha256), number, data)
