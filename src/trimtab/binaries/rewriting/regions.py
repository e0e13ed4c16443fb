"""Rewrite regions of GPU code so that they hold only the kept elements."""

import struct
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.gpu.fatbin import REGION_HEADER_BYTES, FatbinRegion, GpuCode

_SIZE_FIELD = struct.Struct("<Q")  # of a region's header: its bytes without the header
_SIZE_FIELD_OFFSET = 8
_LONGEST_PADDING_BYTES = 64
_NO_REPLACEMENTS: Mapping[int, bytes] = {}


@dataclass(frozen=True, eq=False)
class Patch:
    """Bytes for file offset `offset`: uint8, shape (n,).

    `source` is their old offset if they moved, -1 for new bytes.
    """

    offset: int
    data: NDArray[np.uint8]
    source: int = -1

    @property
    def end(self) -> int:
        """The file offset past the last byte."""
        return self.offset + self.data.size


def apply_patches(patches: Sequence[Patch], offset: int, chunk: NDArray[np.uint8]) -> None:
    """Write the patches' bytes over the chunk that begins at `offset`."""
    first = bisect_right(patches, offset, key=lambda patch: patch.end)
    for patch in islice(patches, first, None):
        if patch.offset >= offset + chunk.size:
            break
        low, high = max(patch.offset, offset), min(patch.end, offset + chunk.size)
        chunk[low - offset : high - offset] = patch.data[low - patch.offset : high - patch.offset]


@dataclass(frozen=True, eq=False)
class RewrittenGpuCode:
    """The changes of a file: patches by rising offset, disjoint, and the freed bytes.

    `placed` maps the old offset of each element still listed in its region to its new one.

    `free_start` and `free_end` (int64, (n,)) are sorted, disjoint, non-empty intervals of the file,
    at most one a region or frame; no patch touches them. They must become zeros: cuobjdump takes a
    region with other bytes after it for damaged. `padding_start` and `padding_end` are intervals of
    alignment between them, all zeros.
    """

    patches: tuple[Patch, ...]
    placed: Mapping[int, int]
    free_start: NDArray[np.int64]
    free_end: NDArray[np.int64]
    padding_start: NDArray[np.int64]
    padding_end: NDArray[np.int64]


def rewrite_regions(
    data: NDArray[np.uint8],
    gpu_code: GpuCode,
    keep: Collection[int],
    replacements: Mapping[int, bytes] = _NO_REPLACEMENTS,
    registered: Collection[int] = (),
) -> RewrittenGpuCode:
    """Return the changes of `data`, a file's bytes, if only the pieces at offsets `keep` stay.

    Kept elements move to the front of their region, in order, and its header gets the new size. The
    region itself stays in place, as wrappers point to it. Elements can be moved: offsets in their
    headers count from their start, and sizes are multiples of eight, which keeps the alignment. A
    region without kept elements is freed with its header, unless its offset is in `registered`:
    then it stays without elements. `replacements` has new bytes, by offset, for kept elements; they
    must not be longer. Raises ValueError for an offset in `keep` or `replacements` without a piece,
    or a replacement that is too long or not whole words.
    """
    kept = set(keep)
    elements = {e.offset for region in gpu_code.regions for e in region.elements}
    unknown = kept - {frame.offset for frame in gpu_code.frames} | replacements.keys()
    if unknown := unknown - elements:
        raise ValueError(f"no element or frame begins at {sorted(unknown)[:3]}")
    patches: list[Patch] = []
    placed: dict[int, int] = {}
    free = [(frame.offset, frame.end) for frame in gpu_code.frames if frame.offset not in kept]
    for region in gpu_code.regions:
        end = _rewrite(data, region, kept, replacements, patches, placed)
        if end == region.offset + REGION_HEADER_BYTES < region.end:
            if region.offset in registered:
                patches.append(_size_patch(region, end))
            else:
                end = region.offset
        free.append((end, region.end))
    free_start, free_end = np.array(sorted(free), np.int64).reshape(-1, 2).T
    chosen = free_end > free_start
    free_start, free_end = free_start[chosen], free_end[chosen]
    padding = [
        (low, high)
        for low, high in zip(free_end[:-1].tolist(), free_start[1:].tolist(), strict=True)
        if 0 < high - low <= _LONGEST_PADDING_BYTES and not data[low:high].any()
    ]
    padding_start, padding_end = np.array(padding, np.int64).reshape(-1, 2).T
    return RewrittenGpuCode(
        tuple(patches), placed, free_start, free_end, padding_start, padding_end
    )


def _rewrite(
    data: NDArray[np.uint8],
    region: FatbinRegion,
    kept: Collection[int],
    replacements: Mapping[int, bytes],
    patches: list[Patch],
    placed: dict[int, int],
) -> int:
    """Append the patches of one region; return the file offset after its last element."""
    moved: list[Patch] = []
    end = region.offset + REGION_HEADER_BYTES
    for element in region.elements:
        if element.offset not in kept:
            continue
        placed[element.offset] = end
        length = element.end - element.offset
        replacement = replacements.get(element.offset)
        if replacement is not None:
            if len(replacement) > length or len(replacement) % 8:
                raise ValueError(f"{len(replacement)} bytes do not replace an element of {length}")
            moved.append(Patch(end, np.frombuffer(replacement, np.uint8)))
        elif end != element.offset:
            moved.append(Patch(end, data[element.offset : element.end], element.offset))
        end += length if replacement is None else len(replacement)
    if region.offset + REGION_HEADER_BYTES < end != region.end:
        patches.append(_size_patch(region, end))
    patches.extend(moved)
    return end


def _size_patch(region: FatbinRegion, end: int) -> Patch:
    size = _SIZE_FIELD.pack(end - region.offset - REGION_HEADER_BYTES)
    return Patch(region.offset + _SIZE_FIELD_OFFSET, np.frombuffer(size, np.uint8))
