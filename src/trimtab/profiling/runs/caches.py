"""Caches of a run's own, for what programs compile while they run; the user's stay untouched."""

import os
from collections.abc import Mapping
from pathlib import Path

# By the variable that names the folder. What is only downloaded stays where it is.
_FOLDERS = {
    "CUDA_CACHE_PATH": "cuda",
    "CUPY_CACHE_DIR": "cupy",
    "NUMBA_CACHE_DIR": "numba",
    "PYTHONPYCACHEPREFIX": "python",
    "PYTORCH_KERNEL_CACHE_PATH": "pytorch",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TORCH_EXTENSIONS_DIR": "torch_extensions",
    "TRITON_CACHE_DIR": "triton",
    "XDG_CACHE_HOME": "xdg",
}
# Entries of XDG_CACHE_HOME that programs compute again; all others may be models and data.
_COMPUTED = frozenset({"cupy", "fontconfig", "matplotlib", "mesa_shader_cache", "numba"})


def caches_in(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Make the caches in `folder` where they are missing; return the variables that name them.

    Python writes and reads its compiled modules there as well, whatever
    PYTHONDONTWRITEBYTECODE is in `environment`. Models and data that the user's XDG_CACHE_HOME
    holds are linked, so that nothing is downloaded again.
    """
    caches = {variable: folder.resolve() / name for variable, name in _FOLDERS.items()}
    for cache in caches.values():
        cache.mkdir(parents=True, exist_ok=True)
    _link_data(_cache_home(environment), caches["XDG_CACHE_HOME"])
    return {
        **{variable: str(cache) for variable, cache in caches.items()},
        "PYTHONDONTWRITEBYTECODE": "",  # empty counts as absent
    }


def _cache_home(environment: Mapping[str, str]) -> Path:
    home = Path(environment.get("HOME") or Path.home())
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache")


def _link_data(source: Path, destination: Path) -> None:
    if not os.access(source, os.R_OK | os.X_OK):
        return
    for entry in source.iterdir():
        link = destination / entry.name
        if entry.name not in _COMPUTED and not os.path.lexists(link):
            link.symlink_to(entry.absolute())
