"""Separate caches for a run's compiled code; the user's caches stay unchanged."""

import os
from collections.abc import Mapping
from pathlib import Path

from trimtab.processes.root import RootFileSystem

_BYTE_CODE = "PYTHONPYCACHEPREFIX"
# By the variable with the folder. Caches of downloads only are shared.
_FOLDERS = {
    "CUDA_CACHE_PATH": "cuda",
    "CUPY_CACHE_DIR": "cupy",
    "NUMBA_CACHE_DIR": "numba",
    _BYTE_CODE: "python",
    "PYTORCH_KERNEL_CACHE_PATH": "pytorch",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TORCH_EXTENSIONS_DIR": "torch_extensions",
    "TRITON_CACHE_DIR": "triton",
    "XDG_CACHE_HOME": "xdg",
}
# Entries of XDG_CACHE_HOME that programs can compute again; others may be models and data.
_COMPUTED = frozenset({"cupy", "fontconfig", "matplotlib", "mesa_shader_cache", "numba"})


def make_caches(
    folder: Path, environment: Mapping[str, str], root: RootFileSystem | None = None
) -> list[Path]:
    """Make the caches in the new folder `folder` and return their folders.

    Models and data in XDG_CACHE_HOME of `environment`, for programs in `root`, are linked, so
    nothing is downloaded again.
    """
    caches = [folder / name for name in _FOLDERS.values()]
    for cache in caches:
        cache.mkdir(parents=True)
    home = _cache_home(environment)
    there = home if root is None else root.find(home)
    if there is not None:
        _link_data(there, home, folder / _FOLDERS["XDG_CACHE_HOME"])
    return caches


def caches_in(folder: Path, root: RootFileSystem | None = None) -> dict[str, str]:
    """Return the variables that name the caches in `folder`.

    Python reads and writes its byte code there too, even if PYTHONDONTWRITEBYTECODE was set. In a
    `root` Python uses the byte code of the image: elsewhere it would read the sources that byte
    code replaces.
    """
    caches = {variable: str(folder.resolve() / name) for variable, name in _FOLDERS.items()}
    if root is not None:
        del caches[_BYTE_CODE]
        return caches
    return {**caches, "PYTHONDONTWRITEBYTECODE": ""}  # empty counts as unset


def _cache_home(environment: Mapping[str, str]) -> Path:
    home = Path(environment.get("HOME") or Path.home())
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache")


def _link_data(source: Path, called: Path, destination: Path) -> None:
    """Link the content of `source`, which programs see at `called`."""
    if not os.access(source, os.R_OK | os.X_OK):
        return
    for entry in source.iterdir():
        link = destination / entry.name
        if entry.name not in _COMPUTED and not os.path.lexists(link):
            link.symlink_to(called.absolute() / entry.name)
