"""GPU code in a library: regions of elements, and bare compressed cubins."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from trimtab.binaries.architecture import Architecture

Compression = Literal["none", "lz4", "zstd"]
REGION_HEADER_BYTES = 16


class Kind(IntEnum):
    """What an element holds; the value is the one in its header."""

    PTX = 1
    ELF = 2


@dataclass(frozen=True, slots=True)
class Element:
    """One program for one architecture: a header and its payload, at file offset `offset`.

    `payload_bytes` includes padding: the next element begins at `end`. `stored_bytes` is the
    payload without padding, as stored; `uncompressed_bytes` what it decompresses to.
    """

    offset: int
    header_bytes: int
    payload_bytes: int
    stored_bytes: int
    uncompressed_bytes: int
    kind: Kind
    architecture: Architecture
    compression: Compression
    flags: int

    @property
    def end(self) -> int:
        """The file offset past the element's padding."""
        return self.offset + self.header_bytes + self.payload_bytes


@dataclass(frozen=True, slots=True)
class Region:
    """A fat binary: a header of 16 bytes at file offset `offset`, then its elements."""

    offset: int
    elements: tuple[Element, ...]

    @property
    def end(self) -> int:
        """The file offset past the last element."""
        return self.elements[-1].end if self.elements else self.offset + REGION_HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Frame:
    """A zstd frame [offset, end) of the file that holds one cubin and lies in no region."""

    offset: int
    end: int
    uncompressed_bytes: int
    architecture: Architecture


@dataclass(frozen=True)
class GpuCode:
    """All GPU code of one file, by offset; nothing overlaps."""

    regions: tuple[Region, ...]
    frames: tuple[Frame, ...]
