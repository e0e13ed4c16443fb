"""Compilation of functions over arrays, and the cache of their machine code."""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from trimtab.sources import sources_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


@cache
def _cache_folder(file: Path, root: Path) -> str:
    """Return a cache folder for the module `file`, named by its source and that of its imports.

    To check whether machine code is current, Numba looks only at a function's own file, not at the
    files of functions compiled into it. All of these are imported below `root`. Empty, for numba's
    default, where no folder can be made.
    """
    if not os.access(file.parent, os.W_OK):
        return ""
    digest = hashlib.sha256(str(numba.config.BOUNDSCHECK).encode())  # NUMBA_BOUNDSCHECK=1
    for source in sources_of([file], root):
        digest.update(source.read_bytes())
    return str(file.parent / "__pycache__" / f"numba-{digest.hexdigest()[:12]}")


def _jit(function: _Function, **options: bool) -> _Function:
    file = Path(function.__code__.co_filename)
    root = file.parents[function.__module__.count(".")]
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _cache_folder(file, root) or before
    try:
        return cast(
            _Function, numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
        )
    finally:
        numba.config.CACHE_DIR = before


def compiled(function: _Function) -> _Function:
    """Compile `function` on its first call; machine code is cached beside the source."""
    return _jit(function)


def inlined(function: _Function) -> _Function:
    """Compile `function` into each caller, without reference counting: it must not create arrays.

    Such functions run at every event; counting references to the arrays that they pass takes
    several times as long as simulating.
    """
    return _jit(function, _nrt=False, forceinline=True)
