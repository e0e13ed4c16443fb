"""How the functions of the kernel are compiled, and where their machine code is kept."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _cache_folder() -> str:
    """Return a folder of these sources' own; empty, numba's choice, where none can be made.

    Numba looks at the file of a function alone to see whether its machine code is up to date, and
    not at the files of the functions that are compiled into it.
    """
    folder = Path(__file__).parent
    if not os.access(folder, os.W_OK):
        return ""
    digest = hashlib.sha256(str(numba.config.BOUNDSCHECK).encode())  # NUMBA_BOUNDSCHECK=1
    for source in sorted(folder.glob("*.py")):
        text = source.read_bytes()
        if b"engine.compiled" in text or source.name in ("compiled.py", "layout.py"):
            digest.update(text)
    return str(folder / "__pycache__" / f"numba-{digest.hexdigest()[:12]}")


_FOLDER = _cache_folder()


def _jit(function: _Function, **options: bool) -> _Function:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _FOLDER or before
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
