"""Slim environments that DVC has taken the execute permission from."""

import os
from pathlib import Path

from trimtab.files import remove_tree


def remove_damaged_environments(folder: Path = Path("results/debloat")) -> list[Path]:
    """Remove the environments without any executable file, and return their paths.

    Before a stage runs, DVC makes every file of its outputs writable, in ignored folders too, and
    thereby not executable. Snakemake builds an environment again where a job needs it.
    """
    damaged = [env for env in sorted(folder.glob("*/*/env")) if not _has_executable(env)]
    for env in damaged:
        remove_tree(env)
    return damaged


def _has_executable(folder: Path) -> bool:
    return any(
        not (path := Path(place, name)).is_symlink() and path.stat().st_mode & 0o111
        for place, _, names in os.walk(folder)
        for name in names
    )
