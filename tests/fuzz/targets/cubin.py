"""A cubin, of which some kernels and what they reach are kept."""

from pathlib import Path

from trimtab.binaries.gpu.cubin import CubinError, cubin_architecture, read_cubin
from trimtab.binaries.gpu.cubin_reach import reachable_sections

ERRORS = CubinError


def run(data: bytes, folder: Path) -> None:
    cubin = read_cubin(data)
    cubin_architecture(data[:64])
    kernels = sorted(cubin.kernels)
    reachable_sections(cubin, kernels[::2])
