"""GPU code that a library handed to the driver as a whole fat binary region of its file.

cuFFT holds a region for each kernel and architecture, most of them PTX, and loads them so. What the
driver makes of PTX has another digest than anything in the file.
"""

import hashlib
import mmap
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab.binaries.gpu.architecture import can_load
from trimtab.binaries.gpu.compression import WorkLimit
from trimtab.binaries.gpu.cubin import read_cubin
from trimtab.binaries.gpu.fatbin import Element, Kind, cubin_bytes, read_region
from trimtab.errors import TrimtabError, UserError
from trimtab.profiling.tracing.kernel_records import LoadedModule

# PTX ISA, ".entry": the name follows the directive; identifiers may hold $ and begin with %.
_PTX_ENTRY = re.compile(rb"\.entry\s+([\w$%]+)")


@dataclass(frozen=True)
class HandedRegion:
    """What a region holds for the GPUs of a run: cubins with their kernels, and kernels of PTX."""

    cubins: list[LoadedModule]
    ptx_kernels: frozenset[str]

    @property
    def kernels(self) -> frozenset[str]:
        """The kernels of all."""
        return self.ptx_kernels.union(*(cubin.symbols for cubin in self.cubins))


def read_handed_region(path: Path, offset: int, gpus: Collection[int]) -> HandedRegion:
    """Return what the region at `offset` of a file holds for `gpus`, compute capabilities.

    Raises TrimtabError where the file is not there, or holds no such region.
    """
    try:
        with path.open("rb") as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        region = read_region(memoryview(whole), offset, WorkLimit(2 * len(whole)))
        if region is None:
            raise ValueError("it does not hold together")
        data = np.frombuffer(whole, np.uint8)
        cubins = [
            _cubin(cubin_bytes(data, element))
            for element in region.elements
            if element.kind is Kind.ELF and _fits(element, gpus)
        ]
        texts = [cubin_bytes(data, e) for e in region.elements if e.kind is Kind.PTX]
        if whole.size() < len(whole):
            raise ValueError("it was made shorter while it was read")
    except (OSError, ValueError, UserError) as error:
        raise TrimtabError(
            f"{path}: the GPU code at file offset {offset:#x}, which a run loaded, cannot be read:"
            f" {error}"
        ) from None
    names = (name.decode() for text in texts for name in _PTX_ENTRY.findall(text))
    return HandedRegion(cubins, frozenset(names))


def _fits(element: Element, gpus: Collection[int]) -> bool:
    return any(can_load(element.architecture, gpu) for gpu in gpus)


def _cubin(program: bytes) -> LoadedModule:
    digest = hashlib.sha256(program).hexdigest()
    return LoadedModule(digest, len(program), frozenset(read_cubin(program).kernels))
