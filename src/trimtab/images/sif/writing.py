"""Write a SIF with the objects of another one, but another root file system."""

import hashlib
import tempfile
import uuid
from pathlib import Path
from typing import IO

from trimtab.files import atomic_write, naming
from trimtab.images.archives.image import Image
from trimtab.images.archives.region import FileRegion, identity_of, opened
from trimtab.images.compression import Compression
from trimtab.images.errors import damage_of
from trimtab.images.layers import open_layer
from trimtab.images.sif.container import Sif
from trimtab.images.sif.header import (
    DataType,
    first_object_offset,
    moved,
    packed_header,
)
from trimtab.images.sif.squashfs import squashed
from trimtab.images.tar.stream import CHUNK_BYTES

_ALIGNED_BYTES = 4096
# Statements about files that are false for fewer files.
_NO_LONGER_TRUE = {
    DataType.SIGNATURE,
    DataType.CRYPTOGRAPHIC_MESSAGE,
    DataType.BILL_OF_MATERIALS,
}


def write_sif(
    original: Sif, image: Image, destination: Path, compression: Compression = Compression.GZIP
) -> None:
    """Write the SIF `destination`: `original` with the one layer of `image` as its file system.

    Other objects stay, except signatures and bills of materials. Times are the original's, and the
    UUID is derived from the content: the same input gives the same bytes. Raises ImageError if
    either was changed since it was opened, or if the file system cannot be made. Raises UserError
    if the program for it is missing, and OSError as writing does.
    """
    with (
        atomic_write(destination, 0o755) as temporary,
        tempfile.TemporaryDirectory(prefix=".trimtab-", dir=destination.parent) as folder,
    ):
        squashfs = Path(folder, "squashfs")
        with damage_of(destination, "SIF"), squashed(squashfs, compression) as archive:
            _copy_layer(image, archive)
        with naming(destination), temporary.open("wb") as file:
            _write_objects(original, squashfs, file)


def _copy_layer(image: Image, archive: IO[bytes]) -> None:
    [_] = image.layers
    with open_layer(image, 0) as stream:
        while piece := stream.take(CHUNK_BYTES):
            archive.write(piece)


def _write_objects(original: Sif, squashfs: Path, file: IO[bytes]) -> None:
    root, _ = original.root()
    with opened(squashfs) as made:
        ours = FileRegion(squashfs, 0, squashfs.stat().st_size, identity_of(made))
    chosen = [
        (each, ours if each is root else region)
        for each, region in original.objects
        if each.data_type not in _NO_LONGER_TRUE
    ]
    identity = hashlib.sha256(original.header.identity)
    end = first_object_offset(len(chosen))
    file.seek(end)
    written = []
    for descriptor, region in chosen:
        offset = end + -end % _ALIGNED_BYTES
        file.write(bytes(offset - end))
        for piece in region.chunks():
            identity.update(piece)
            file.write(piece)
        new_end = offset + region.size_bytes
        written.append(moved(descriptor, offset, region.size_bytes, new_end - end))
        end = new_end
    name = uuid.uuid5(uuid.NAMESPACE_OID, identity.hexdigest())
    file.seek(0)
    file.write(packed_header(original.header, name.bytes, written))
