"""Multiply matrices, or set items, on a GPU: `demo.py matmul` or `demo.py scalar`."""

import ctypes
import sys
from pathlib import Path

SIZE = 64
library = ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libdemo.so"))
Items = ctypes.c_int * (SIZE * SIZE)


def matmul() -> bool:
    """Multiply by the identity."""
    matrix, identity, product = Items(*range(SIZE * SIZE)), Items(), Items()
    identity[:: SIZE + 1] = [1] * SIZE
    check(library.matmul(matrix, identity, product, SIZE))
    return list(product) == list(matrix)


def scalar() -> bool:
    """Set every item to 7."""
    items = Items()
    check(library.scalar(items, 7, len(items)))
    return set(items) == {7}


def check(error: int) -> None:
    """Raise an exception for what CUDA calls an error."""
    if error:
        raise RuntimeError(f"CUDA error {error}")


print("SUCCESS" if {"matmul": matmul, "scalar": scalar}[sys.argv[1]]() else "FAILURE")
