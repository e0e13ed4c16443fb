"""The regions of GPU code that a library registers with the CUDA runtime when it is loaded.

Each has a wrapper in `.nvFatBinSegment`: u32 magic, u32 version, u64 address of the region, u64
name (`fatBinaryCtl_t` in CUDA's fatbinary_section.h). The runtime passes the wrapper to the driver,
which reads the headers of all elements of the region.
"""

import numpy as np

from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import RELOCATION, table_rows
from trimtab.binaries.gpu.fatbin import GpuCode

_WRAPPER = np.dtype([("magic", "<u4"), ("version", "<u4"), ("region", "<u8"), ("name", "<u8")])
_MAGIC = 0x466243B1
_RELATIVE = 8


def registered_regions(elf: Elf, code: GpuCode) -> frozenset[int]:
    """Return the file offsets of the regions of `code` to which the library's wrappers point.

    Without section headers these may be all regions.
    """
    if not elf.sections:
        return frozenset(region.offset for region in code.regions)
    wrappers = table_rows(elf, ".nvFatBinSegment", _WRAPPER)
    section = elf.section(".nvFatBinSegment")
    if section is None or not wrappers.size:
        return frozenset()
    relocations = table_rows(elf, ".rela.dyn", RELOCATION)
    relative = relocations[relocations["type"] == _RELATIVE]
    slots = section.address + np.arange(wrappers.size) * _WRAPPER.itemsize
    slots += _WRAPPER.fields["region"][1]  # type: ignore[index]
    order = np.argsort(relative["slot"], kind="stable")
    place = np.searchsorted(relative["slot"][order], slots.astype(np.uint64))
    region = wrappers["region"].astype(np.int64)
    inside = np.flatnonzero(place < order.size)
    row = relative[order[place[inside]]]
    filled = row["slot"] == slots[inside].astype(np.uint64)
    region[inside[filled]] = row["addend"][filled]
    offsets = elf.offsets_of(region[wrappers["magic"] == _MAGIC])
    return frozenset(offsets[offsets >= 0].tolist())
