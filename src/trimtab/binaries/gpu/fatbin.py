"""GPU code in a library: regions of elements, and bare compressed cubins.

NVIDIA does not publish the format; the layout was determined from the output of nvcc and fatbinary
(CUDA 11 to 13) and from NVIDIA's libraries.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.gpu.architecture import Architecture, Variant
from trimtab.binaries.gpu.compression import (
    ZSTD_BLOCK_BYTES,
    ZSTD_MAGIC,
    CompressionError,
    Expansion,
    TooLargeError,
    TooMuchWorkError,
    WorkLimit,
    decompress_lz4,
    decompress_zstd,
    walk_zstd,
    zstd_beginning,
)
from trimtab.binaries.gpu.cubin import (
    CUBIN_HEADER_BYTES,
    CubinError,
    cubin_architecture,
    read_cubin,
)
from trimtab.binaries.gpu.fatbin_scan import scan_file
from trimtab.errors import UserError

Compression = Literal["none", "lz4", "zstd"]
REGION_HEADER_BYTES = 16
REGION_MAGIC = b"\x50\xed\x55\xba"
_REGION_HEADER = struct.Struct("<4sHHQ")
_ELEMENT_HEADER = struct.Struct("<HHIQIIHHIIIQQQ")
_ELEMENT_VERSION = 0x0101
_MOST_HEADER_BYTES = 1 << 16  # the fixed 64 bytes, then ptxas options and the source's name
_LZ4, _ZSTD, _SCRAMBLED = 0x2000, 0x8000, 0x10000
_VARIANT_FLAGS = 0x300000
_VARIANTS: dict[int, Variant] = {0: "", 0x100000: "a", 0x200000: "f"}


class FatbinError(UserError):
    """GPU code is damaged; the message begins with its file offset."""

    def __init__(self, offset: int, problem: str):
        super().__init__(f"the GPU code at file offset {offset:#x} {problem}")


class FatbinTooLargeError(FatbinError):
    """A program would exceed the limit for decompressed bytes of its file."""


class ElementKind(IntEnum):
    """The content of an element; the value is the one in its header.

    LTO_IR is `-dlto` output for a linker to compile (NVVM code), as in cuFFT's callbacks.
    CONCATENATED is several cubins compressed as one (`fatbinary -concat`), without an architecture.
    OTHER is any unknown value.
    """

    OTHER = 0

    PTX = 1
    ELF = 2
    LTO_IR = 8
    CONCATENATED = 256


_KINDS = frozenset(ElementKind)
_MOST_READINGS = 2  # limit of the bytes read in the search, over the file's size
_LEAST_ELEMENT_WORK_BYTES = 256  # a header alone has 64, and takes as long to read
_MOST_FRAME_RATIO = 256  # the highest in NVIDIA's libraries is below 20


@dataclass(frozen=True, slots=True)
class Element:
    """One program for one architecture: a header and its payload, at file offset `offset`.

    `payload_bytes` includes padding: the next element begins at `end`. `stored_bytes` is the
    payload without padding, as stored; `uncompressed_bytes` its decompressed size.
    """

    offset: int
    header_bytes: int
    payload_bytes: int
    stored_bytes: int
    uncompressed_bytes: int
    kind: ElementKind
    architecture: Architecture
    compression: Compression
    flags: int

    @property
    def end(self) -> int:
        """The file offset past the element's padding."""
        return self.offset + self.header_bytes + self.payload_bytes


@dataclass(frozen=True, slots=True)
class FatbinRegion:
    """A fat binary: a header of 16 bytes at file offset `offset`, followed by its elements."""

    offset: int
    elements: tuple[Element, ...]

    @property
    def end(self) -> int:
        """The file offset past the last element."""
        return self.elements[-1].end if self.elements else self.offset + REGION_HEADER_BYTES


@dataclass(frozen=True, slots=True)
class CubinFrame:
    """A zstd frame [offset, end) of the file with one cubin, outside any region."""

    offset: int
    end: int
    uncompressed_bytes: int
    architecture: Architecture


@dataclass(frozen=True)
class GpuCode:
    """All GPU code of one file, by offset; nothing overlaps.

    `problem` says why the search stopped early, "" otherwise.
    """

    regions: tuple[FatbinRegion, ...]
    frames: tuple[CubinFrame, ...]
    problem: str = ""


def find_gpu_code(elf: Elf) -> GpuCode:
    """Return the regions and bare frames of the whole file, in any section.

    Bytes that only resemble a region or a frame are not GPU code. A file built to be read again and
    again has none, and a `problem`.
    """
    data = elf.data.data
    work, expansion = WorkLimit(_MOST_READINGS * elf.size_bytes), Expansion.of(elf.size_bytes)
    regions: list[FatbinRegion] = []
    frames: list[CubinFrame] = []

    def region_end(offset: int) -> int | None:
        region = read_region(data, offset, work)
        if region is None:
            return None
        regions.append(region)
        return region.end

    def frame_end(offset: int) -> int | None:
        frame = _read_frame(data, offset, work, expansion)
        if frame is None:
            return None
        frames.append(frame)
        return frame.end

    try:
        scan_file(elf, {REGION_MAGIC: region_end, ZSTD_MAGIC: frame_end})
    except TooMuchWorkError:
        return GpuCode((), (), "its GPU code overlaps, as only damaged code does")
    return GpuCode(tuple(regions), tuple(frames))


def read_region(data: memoryview, offset: int, work: WorkLimit) -> FatbinRegion | None:
    """Return the region at `offset` of a file's bytes, or None if its parts are inconsistent.

    Raises TooMuchWorkError past the limit `work`.
    """
    if offset + REGION_HEADER_BYTES > len(data):
        return None
    magic, version, header_bytes, size = _REGION_HEADER.unpack_from(data, offset)
    end = offset + header_bytes + size
    if (magic, version, header_bytes) != (REGION_MAGIC, 1, REGION_HEADER_BYTES) or end > len(data):
        return None
    elements = []
    position = offset + header_bytes
    while position < end:
        element = _read_element(data, position, end)
        if element is None:
            return None
        work.spend(max(element.end - position, _LEAST_ELEMENT_WORK_BYTES))
        elements.append(element)
        position = element.end
    return FatbinRegion(offset, tuple(elements))


def _read_element(data: memoryview, offset: int, end: int) -> Element | None:
    if offset + _ELEMENT_HEADER.size > end:
        return None
    fields = _ELEMENT_HEADER.unpack_from(data, offset)
    kind, version, header_bytes, payload_bytes, compressed_bytes = fields[:5]
    number, flags, uncompressed_bytes = fields[8], fields[11], fields[13]
    compression: Compression = "lz4" if flags & _LZ4 else "zstd" if flags & _ZSTD else "none"
    stored_bytes = payload_bytes if compression == "none" else compressed_bytes
    variant = _VARIANTS.get(flags & _VARIANT_FLAGS)
    if (
        version != _ELEMENT_VERSION
        or not _ELEMENT_HEADER.size <= header_bytes <= _MOST_HEADER_BYTES
        or offset + header_bytes + payload_bytes > end
        or stored_bytes > payload_bytes
        or variant is None
    ):
        return None
    return Element(
        offset=offset,
        header_bytes=header_bytes,
        payload_bytes=payload_bytes,
        stored_bytes=stored_bytes,
        uncompressed_bytes=stored_bytes if compression == "none" else uncompressed_bytes,
        kind=ElementKind(kind) if kind in _KINDS else ElementKind.OTHER,
        architecture=Architecture(number, variant),
        compression=compression,
        flags=flags,
    )


def _read_frame(
    data: memoryview, offset: int, work: WorkLimit, expansion: Expansion
) -> CubinFrame | None:
    """Return the zstd frame at `offset` if it holds a cubin of a declared size, or None."""
    try:
        walked = walk_zstd(data, offset, work)
        size = walked.content_bytes
        if size is None or size > _MOST_FRAME_RATIO * (walked.end - offset):
            return None
        expansion.take(min(size, ZSTD_BLOCK_BYTES))
        cubin_architecture(zstd_beginning(data, offset, walked)[:CUBIN_HEADER_BYTES])
        cubin = read_cubin(decompress_zstd(bytes(data[offset : walked.end]), size, expansion))
    except (CompressionError, CubinError):
        return None
    return CubinFrame(offset, walked.end, size, cubin.architecture)


def cubin_bytes(
    data: NDArray[np.uint8], piece: Element | CubinFrame, expansion: Expansion | None = None
) -> bytes:
    """Return the program of an element or frame, decompressed: a cubin, PTX text or LTO-IR.

    `data` is the whole file, uint8; `expansion` its limit for decompression. Raises FatbinError if
    it does not decompress to its header's size, and for LTO-IR that only NVIDIA's linker can read.
    Raises FatbinTooLargeError past the limit.
    """
    if isinstance(piece, CubinFrame):
        stored = data[piece.offset : piece.end].tobytes()
        compression: Compression = "zstd"
    else:
        if piece.flags & _SCRAMBLED:
            raise FatbinError(piece.offset, "is scrambled LTO-IR; only NVIDIA's linker reads it")
        start = piece.offset + piece.header_bytes
        stored = data[start : start + piece.stored_bytes].tobytes()
        compression = piece.compression
    expansion = expansion or Expansion.of(data.size)
    try:
        if compression == "lz4":
            return decompress_lz4(stored, piece.uncompressed_bytes, expansion)
        if compression == "zstd":
            return decompress_zstd(stored, piece.uncompressed_bytes, expansion)
    except TooLargeError as error:
        raise FatbinTooLargeError(piece.offset, str(error)) from None
    except CompressionError as error:
        raise FatbinError(piece.offset, str(error)) from None
    return stored
