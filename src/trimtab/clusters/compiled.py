"""How the functions of the kernel are compiled, and where their machine code is kept."""

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
    """Return a folder for the machine code of the module `file`, of its own and its imports' text.

    Numba looks at the file of a function alone to see whether its machine code is up to date, and
    not at the files of the functions that are compiled into it: all of them are imported below
    `root`. Empty, numba's choice, where no folder can be made.
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
    """Compile `function` on its first call; the machine code is kept beside the source."""
    return _jit(function)


def lean(function: _Function) -> _Function:
    """Compile `function` without counting references: it must not make arrays.

    The kernel's functions hand on tuples of many arrays; counting a reference to each, at each
    call, takes several times as long as simulating.
    """
    return _jit(function, _nrt=False)


def inlined(function: _Function) -> _Function:
    """As `lean`, compiled into each of the callers: for what every event passes through."""
    return _jit(function, _nrt=False, forceinline=True)
