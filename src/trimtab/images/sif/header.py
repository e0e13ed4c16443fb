"""The header and the descriptors of a SIF, with the places of its objects.

Singularity Image Format, version 01: `header` and `rawDescriptor` of the Go module
github.com/apptainer/sif/v2 (pkg/sif/sif.go and descriptor.go). All numbers are little-endian.
"""

import struct
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Self

from trimtab.images.errors import DamagedError

MAGIC, MAGIC_OFFSET = b"SIF_MAGIC\0", 32  # after the line by which a shell starts it
DESCRIPTORS_OFFSET = 4096
_VERSION = b"01\0"
_HEADER = struct.Struct("<32s10s3s3s16s8q")
_DESCRIPTOR = struct.Struct("<i?III7q128s384s")
_PARTITION = struct.Struct("<ii3s")  # at the start of a partition's own fields
HEADER_BYTES = _HEADER.size
DESCRIPTOR_BYTES = _DESCRIPTOR.size
_USUAL_DESCRIPTORS, _MOST_DESCRIPTORS = 48, 4096
# Go's names, which images use.
_ARCHITECTURES = ("", "386", "amd64", "arm", "arm64", "ppc64", "ppc64le", "mips", "mipsle",
                  "mips64", "mips64le", "s390x", "riscv64", "loong64")  # fmt: skip


class DataType(IntEnum):
    """The kind of an object."""

    DEFINITION = 0x4001
    ENVIRONMENT = 0x4002
    LABELS = 0x4003
    PARTITION = 0x4004
    SIGNATURE = 0x4005
    GENERIC_JSON = 0x4006
    GENERIC = 0x4007
    CRYPTOGRAPHIC_MESSAGE = 0x4008
    BILL_OF_MATERIALS = 0x4009
    OCI_ROOT_INDEX = 0x400A
    OCI_BLOB = 0x400B


class FileSystem(IntEnum):
    """The file system of a partition."""

    SQUASHFS = 1
    EXT3 = 2
    ENCRYPTED_SQUASHFS = 5
    GOCRYPTFS_SQUASHFS = 6


class PartitionKind(IntEnum):
    """The purpose of a partition; there is one PRIMARY_SYSTEM."""

    PRIMARY_SYSTEM = 2
    OVERLAY = 4


@dataclass(frozen=True)
class SifDescriptor:
    """An object at `offset` with `size_bytes`; `padded_bytes` includes the padding before it.

    Times are seconds since 1970. `name` and `extra`, fields of the object's type, are as in the
    file. Other objects refer to it by `number`, or by `group` with others.
    """

    data_type: int
    number: int
    group: int
    linked: int
    offset: int
    size_bytes: int
    padded_bytes: int
    created_s: int
    modified_s: int
    uid: int
    gid: int
    name: bytes
    extra: bytes

    @property
    def partition(self) -> tuple[int, int]:
        """The file system and purpose of a partition; zeros for other objects."""
        if self.data_type != DataType.PARTITION:
            return 0, 0
        file_system, part, _ = _PARTITION.unpack_from(self.extra)
        return file_system, part

    def packed(self) -> bytes:
        """Return its bytes in a file."""
        return _DESCRIPTOR.pack(
            self.data_type, True, self.number, self.group, self.linked, self.offset,
            self.size_bytes, self.padded_bytes, self.created_s, self.modified_s, self.uid, self.gid,
            self.name, self.extra,
        )  # fmt: skip

    @classmethod
    def parse(cls, data: bytes) -> Self | None:
        """Parse DESCRIPTOR_BYTES bytes; returns None for a free descriptor."""
        data_type, used, *rest = _DESCRIPTOR.unpack(data)
        return cls(data_type, *rest) if used else None


@dataclass(frozen=True)
class SifHeader:
    """The contents of a SIF's header; `architecture` is "" if unknown."""

    launch_script: bytes
    architecture: str
    identity: bytes
    created_s: int
    modified_s: int
    descriptors: int
    descriptors_offset: int

    @classmethod
    def parse(cls, data: bytes, file_bytes: int) -> Self:
        """Parse the first HEADER_BYTES bytes of a file of that size.

        Raises DamagedError if they are not from a SIF, or its descriptors lie beyond its end.
        """
        if len(data) < HEADER_BYTES:
            raise DamagedError(f"cut off within the {HEADER_BYTES} bytes of its header")
        script, magic, version, code, identity, *numbers = _HEADER.unpack(data[:HEADER_BYTES])
        created_s, modified_s, _, total, offset, *_ = numbers
        if magic != MAGIC or version != _VERSION:
            raise DamagedError(f"is of the version {version!r}; expected a SIF of version 01")
        if not 0 < total <= _MOST_DESCRIPTORS:
            raise DamagedError(f"has {total:,} descriptors; expected 1 to {_MOST_DESCRIPTORS:,}")
        if not HEADER_BYTES <= offset <= file_bytes - total * DESCRIPTOR_BYTES:
            raise DamagedError(
                f"has {file_bytes:,} bytes, but its descriptors at {offset:,} end beyond: it was"
                " cut off; get the image again"
            )
        return cls(script, _architecture(code), identity, created_s, modified_s, total, offset)

    def descriptors_of(self, data: bytes, file_bytes: int) -> list[SifDescriptor]:
        """Return the objects of the descriptors `data`, in a file of that size.

        Raises DamagedError for an object beyond the end.
        """
        if len(data) != self.descriptors * DESCRIPTOR_BYTES:
            raise DamagedError("cut off within its descriptors; get the image again")
        starts = range(0, len(data), DESCRIPTOR_BYTES)
        every = (SifDescriptor.parse(data[start : start + DESCRIPTOR_BYTES]) for start in starts)
        found = [descriptor for descriptor in every if descriptor is not None]
        for each in found:
            if each.offset < HEADER_BYTES or not 0 <= each.size_bytes <= file_bytes - each.offset:
                raise DamagedError(
                    f"its object {each.number} has {each.size_bytes:,} bytes at {each.offset:,} of"
                    f" {file_bytes:,}: it was cut off; get the image again"
                )
        return found


def packed_header(header: SifHeader, identity: bytes, objects: list[SifDescriptor]) -> bytes:
    """Return the bytes before the `objects` of a new file, with the properties of `header`.

    They are the header, zeros to DESCRIPTORS_OFFSET, and as many descriptors as before.
    """
    total = table_entries(len(objects))
    data_offset = first_object_offset(len(objects))
    data_bytes = sum(each.padded_bytes for each in objects)
    code = _ARCHITECTURES.index(header.architecture)
    first = _HEADER.pack(
        header.launch_script, MAGIC, _VERSION, b"%02d\0" % code, identity, header.created_s,
        header.modified_s, total - len(objects), total, DESCRIPTORS_OFFSET,
        total * DESCRIPTOR_BYTES, data_offset, data_bytes,
    )  # fmt: skip
    table = b"".join(each.packed() for each in objects)
    return (first.ljust(DESCRIPTORS_OFFSET, b"\0") + table).ljust(data_offset, b"\0")


def table_entries(objects: int) -> int:
    """Return the number of descriptors in a new file: as many as other programs write, or more."""
    return max(_USUAL_DESCRIPTORS, objects)


def first_object_offset(objects: int) -> int:
    """Return the end of the descriptors of a new file."""
    return DESCRIPTORS_OFFSET + table_entries(objects) * DESCRIPTOR_BYTES


def moved(
    descriptor: SifDescriptor, offset: int, size_bytes: int, padded_bytes: int
) -> SifDescriptor:
    """Return the same object at another place."""
    return replace(descriptor, offset=offset, size_bytes=size_bytes, padded_bytes=padded_bytes)


def _architecture(code: bytes) -> str:
    text = code.rstrip(b"\0")
    number = int(text) if text.isdigit() else 0
    return _ARCHITECTURES[number] if number < len(_ARCHITECTURES) else ""
