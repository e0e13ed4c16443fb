"""The programs in elements of GPU code, read on all processors, a few at a time."""

import hashlib
import os
import threading
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.gpu.compression import Expansion
from trimtab.binaries.gpu.cubin import CubinError, read_cubin
from trimtab.binaries.gpu.fatbin import (
    CubinFrame,
    Element,
    ElementKind,
    FatbinError,
    FatbinTooLargeError,
    cubin_bytes,
)
from trimtab.binaries.gpu.ptx import PtxError, ptx_kernels

Piece = Element | CubinFrame
_ELF_TYPE, _ET_REL = slice(16, 18), b"\1\0"
# At most two larger programs are in memory at a time; few of CUDA's libraries have any.
_LARGE_BYTES = 32 << 20
_large = threading.BoundedSemaphore(2)


@dataclass(frozen=True)
class GpuProgram:
    """The content of a cubin or PTX text: its kernels (mangled names), and whether it has globals.

    `sha256` is that of the decompressed cubin, "" unless it was asked for. `relocatable` cubins are
    for linking and cannot be loaded. `readable` is false for damaged data and any other format;
    `too_large` means that there is too much to decompress.
    """

    sha256: str = ""
    kernels: frozenset[str] = frozenset()
    has_globals: bool = False
    relocatable: bool = False
    readable: bool = True
    too_large: bool = False


def kind_of(piece: Piece) -> ElementKind:
    """Return the kind of a piece; a bare frame always holds a cubin."""
    return piece.kind if isinstance(piece, Element) else ElementKind.ELF


def read_programs(
    data: NDArray[np.uint8], pieces: Iterable[Piece], hashed_sizes: Collection[int]
) -> dict[int, GpuProgram]:
    """Return the program of each piece of the file `data` (uint8), by the piece's offset.

    Cubins of `hashed_sizes` (bytes, decompressed) get their SHA-256. Decompression and hashing
    release the interpreter's lock; at most one program per processor is in memory at a time.
    """
    chosen, expansion = list(pieces), Expansion.of(data.size)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = pool.map(lambda piece: _read(data, piece, hashed_sizes, expansion), chosen)
        return {piece.offset: program for piece, program in zip(chosen, programs, strict=True)}


def _read(
    data: NDArray[np.uint8], piece: Piece, hashed_sizes: Collection[int], expansion: Expansion
) -> GpuProgram:
    try:
        with _large if piece.uncompressed_bytes > _LARGE_BYTES else nullcontext():
            program = cubin_bytes(data, piece, expansion)
            if kind_of(piece) is ElementKind.PTX:
                return GpuProgram(kernels=ptx_kernels(program))
            cubin = read_cubin(program)
            hashed = len(program) in hashed_sizes
            digest = hashlib.sha256(program).hexdigest() if hashed else ""
            relocatable = program[_ELF_TYPE] == _ET_REL
            return GpuProgram(digest, frozenset(cubin.kernels), bool(cubin.globals), relocatable)
    except FatbinTooLargeError:
        return GpuProgram(readable=False, too_large=True)
    except (FatbinError, CubinError, PtxError):
        return GpuProgram(readable=False)
