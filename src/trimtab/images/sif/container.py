"""A SIF on disk: its objects, and the partition with the root file system."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trimtab.errors import TrimtabError
from trimtab.files import open_regular
from trimtab.images.archives.region import FileRegion, identity_of, opened
from trimtab.images.errors import DamagedError, damage_of
from trimtab.images.sif.header import (
    DESCRIPTOR_BYTES,
    HEADER_BYTES,
    MAGIC,
    MAGIC_OFFSET,
    DataType,
    FileSystem,
    PartitionKind,
    SifDescriptor,
    SifHeader,
)

_REFUSED: dict[int, str] = {
    FileSystem.EXT3: "an ext3 file system, as Singularity 2 wrote them",
    FileSystem.ENCRYPTED_SQUASHFS: "an encrypted file system",
    FileSystem.GOCRYPTFS_SQUASHFS: "an encrypted file system",
}
_REBUILD = "`apptainer build NEW.sif OLD.sif` makes one without"


def is_sif(path: Path) -> bool:
    """Return whether a file begins as a SIF; false if it is unreadable."""
    with suppress(OSError, TrimtabError), open_regular(path) as file:
        return file.read(MAGIC_OFFSET + len(MAGIC))[MAGIC_OFFSET:] == MAGIC
    return False


@dataclass(frozen=True)
class Sif:
    """The SIF at `path` with its objects, in the order of their descriptors."""

    path: Path
    header: SifHeader
    objects: tuple[tuple[SifDescriptor, FileRegion], ...]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the SIF at `path` without reading its objects.

        Raises ImageError if it is no SIF or truncated, and OSError if it is unreadable.
        """
        with opened(path) as file, damage_of(path, "SIF"):
            identity, file_bytes = identity_of(file), os.fstat(file.fileno()).st_size
            header = SifHeader.parse(file.read(HEADER_BYTES), file_bytes)
            file.seek(header.descriptors_offset)
            table = file.read(header.descriptors * DESCRIPTOR_BYTES)
            found = header.descriptors_of(table, file_bytes)
        return cls(
            path,
            header,
            tuple(
                (each, FileRegion(path, each.offset, each.size_bytes, identity)) for each in found
            ),
        )

    @property
    def is_signed(self) -> bool:
        """Whether any object is signed."""
        return any(each.data_type == DataType.SIGNATURE for each, _ in self.objects)

    def root(self) -> tuple[SifDescriptor, FileRegion]:
        """Return the squashfs partition with the root file system.

        Raises ImageError if there is none, or if other partitions are part of what a container
        sees.
        """
        with damage_of(self.path, "SIF"):
            roots = list(self._partitions(PartitionKind.PRIMARY_SYSTEM))
            types = {each.data_type for each, _ in self.objects}
            if not roots and DataType.OCI_ROOT_INDEX in types:
                raise DamagedError(
                    "an OCI image in a SIF (OCI-SIF); expected one with a root file system of its"
                    " own, as `apptainer build` writes"
                )
            if len(roots) != 1:
                raise DamagedError(
                    f"has {len(roots)} primary system partitions; expected one, as `apptainer"
                    " build` writes"
                )
            if any(self._partitions(PartitionKind.OVERLAY)):
                raise DamagedError(f"has a writable overlay, which is not read; {_REBUILD}")
            [(descriptor, region)] = roots
            file_system = descriptor.partition[0]
            if file_system != FileSystem.SQUASHFS:
                known = _REFUSED.get(file_system, f"a file system of the kind {file_system}")
                raise DamagedError(f"has {known}; expected squashfs. {_REBUILD}")
        return descriptor, region

    def _partitions(self, part: PartitionKind) -> Iterator[tuple[SifDescriptor, FileRegion]]:
        for descriptor, region in self.objects:
            if descriptor.partition[1] == part:
                yield descriptor, region
