"""GPU code that a library passed to the driver as a whole fat binary region of its file.

cuFFT holds a region for each kernel and architecture, most of them PTX, and loads whole regions.
The driver's output from PTX has a digest that no file holds.
"""

import hashlib
import mmap
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trimtab.binaries.gpu.architecture import can_load
from trimtab.binaries.gpu.compression import Expansion, TooMuchWorkError, WorkLimit
from trimtab.binaries.gpu.cubin import read_cubin
from trimtab.binaries.gpu.fatbin import Element, ElementKind, cubin_bytes, read_region
from trimtab.binaries.gpu.ptx import ptx_kernels
from trimtab.errors import TrimtabError
from trimtab.profiling.tracing.kernel_records import LoadedModule
from trimtab.untrusted import open_untrusted

_MOST_LIBRARY_BYTES = 1 << 36  # mapped, never read as a whole


@dataclass(frozen=True)
class HandedRegion:
    """The content of a region for the GPUs of a run: cubins with their kernels, and PTX kernels."""

    cubins: list[LoadedModule]
    ptx_kernels: frozenset[str]

    @property
    def kernels(self) -> frozenset[str]:
        """All kernels of the region."""
        return self.ptx_kernels.union(*(cubin.symbols for cubin in self.cubins))


class HandedRegions:
    """The regions of one file that runs passed to the driver; each is read once.

    `path` is the file that a traced program named, and is untrusted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[tuple[int, frozenset[int]], HandedRegion] = {}
        self._limits: tuple[WorkLimit, Expansion] | None = None

    def at(self, offset: int, gpus: Collection[int]) -> HandedRegion:
        """Return the content of the region at `offset` for `gpus`, compute capabilities.

        Raises TrimtabError if the file is missing, has no such region, or decompresses to more than
        its size warrants.
        """
        key = offset, frozenset(gpus)
        if key not in self._read:
            try:
                self._read[key] = self._region(offset, gpus)
            except (OSError, ValueError, TrimtabError, TooMuchWorkError) as error:
                raise TrimtabError(
                    f"{self.path}: the GPU code at file offset {offset:#x}, which a run loaded,"
                    f" cannot be read: {error or 'it overlaps'}"
                ) from None
        return self._read[key]

    def _region(self, offset: int, gpus: Collection[int]) -> HandedRegion:
        with open_untrusted(self.path, _MOST_LIBRARY_BYTES, follow=True) as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._limits is None:
            self._limits = WorkLimit(2 * len(whole)), Expansion.of(len(whole))
        work, expansion = self._limits
        region = read_region(memoryview(whole), offset, work)
        if region is None:
            raise ValueError("it does not hold together")
        data = np.frombuffer(whole, np.uint8)
        fitting = [e for e in region.elements if e.kind is ElementKind.ELF and _fits(e, gpus)]
        texts = [e for e in region.elements if e.kind is ElementKind.PTX]
        cubins = [_cubin(cubin_bytes(data, each, expansion)) for each in fitting]
        names = (ptx_kernels(cubin_bytes(data, each, expansion)) for each in texts)
        read = HandedRegion(cubins, frozenset[str]().union(*names))
        if whole.size() < len(whole):
            raise ValueError("it was made shorter while it was read")
        return read


def _fits(element: Element, gpus: Collection[int]) -> bool:
    return any(can_load(element.architecture, gpu) for gpu in gpus)


def _cubin(program: bytes) -> LoadedModule:
    digest = hashlib.sha256(program).hexdigest()
    return LoadedModule(digest, len(program), frozenset(read_cubin(program).kernels))
