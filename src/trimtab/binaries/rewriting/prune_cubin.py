"""Prune kernels in a compressed cubin: replace them by zeros and compress again."""

import re
import struct
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.gpu.compression import Expansion
from trimtab.binaries.gpu.cubin import Cubin, read_cubin
from trimtab.binaries.gpu.cubin_reach import reachable_sections
from trimtab.binaries.gpu.fatbin import Compression, Element, ElementKind, cubin_bytes
from trimtab.zstd import zstd

# fatbinary's compression level: this level gives exactly its frame lengths.
_ZSTD_LEVEL = 19
_SIZES = struct.Struct("<QI")  # of an element's header: padded payload, compressed size
_SIZES_OFFSET = 8
_STRTAB = 3
_GONE = "#"  # not valid at the start of an identifier


@dataclass(frozen=True)
class Pruned:
    """An element's new bytes, with header and padding, and the removed kernels."""

    element: bytes
    removed: tuple[str, ...]


def prune_element(
    data: NDArray[np.uint8],
    element: Element,
    used: Collection[str],
    expansion: Expansion | None = None,
) -> Pruned | None:
    """Return `element` of the file `data` (uint8) without the kernels that are not `used`.

    Code that the kernels of these mangled names do not reach becomes zeros. A removed kernel is
    renamed, as the driver would launch the zeros: looking it up fails with cudaErrorSymbolNotFound
    (500). All other bytes keep their place. A later trace identifies the module by its new digest.
    Returns None if no kernel is removed, or if the element is not compressed or gets no smaller.
    Raises FatbinError or CubinError if it is damaged or exceeds `expansion`.
    """
    if element.compression == "none" or element.kind is not ElementKind.ELF:
        return None
    cubin = read_cubin(cubin_bytes(data, element, expansion))
    kept = reachable_sections(cubin, set(used) & cubin.kernel_sections.keys())
    removed = [
        name
        for name, section in cubin.kernel_sections.items()
        if section not in kept and not name.startswith(_GONE)
    ]
    if not removed or len({name[1:] for name in removed}) < len(removed):
        return None
    program = _renamed(cubin, _without(cubin, kept), removed)
    stored = _compress(program, element.compression)
    payload = stored + bytes(-len(stored) % 8)
    if len(payload) >= element.payload_bytes:
        return None
    header = bytearray(data[element.offset : element.offset + element.header_bytes].tobytes())
    _SIZES.pack_into(header, _SIZES_OFFSET, len(payload), len(stored))
    return Pruned(bytes(header) + payload, tuple(sorted(removed)))


def _compress(program: bytes, compression: Compression) -> bytes:
    if compression == "zstd":
        return zstd.compress(program, _ZSTD_LEVEL)
    import lz4.block  # few libraries need it

    stored: bytes = lz4.block.compress(program, mode="high_compression", store_size=False)
    return stored


def _without(cubin: Cubin, kept: Collection[int]) -> bytes:
    """Return the cubin's bytes with zeros in sections that are not `kept`."""
    program = bytearray(cubin.data)
    for index, row in enumerate(cubin.sections):
        if index not in kept:
            start, size = int(row["offset"]), int(row["size"])
            program[start : start + size] = bytes(size)
    return bytes(program)


def _renamed(cubin: Cubin, program: bytes, kernels: Collection[str]) -> bytes:
    """Return `program` with # as the first letter of these kernels and of their sections.

    The driver takes a kernel's name from its symbol and from the names of `.text.` and `.nv.info.`.
    """
    names = b"|".join(sorted(re.escape(name.encode()) for name in kernels))
    pattern = re.compile(rb"(?<=[.\0])(?:" + names + rb")(?=\0)")
    result = bytearray(program)
    for row in cubin.sections[cubin.sections["type"] == _STRTAB]:
        start, end = int(row["offset"]), int(row["offset"]) + int(row["size"])
        for match in pattern.finditer(program, start, end):
            result[match.start()] = ord(_GONE)
    return bytes(result)
