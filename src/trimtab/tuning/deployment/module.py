"""The module `trimtab_trial` for programs that run outside a search, without trimtab."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import trimtab_trial
from trimtab.files import atomic_write


def write_module(folder: Path) -> Path:
    """Write `trimtab_trial.py` into `folder`, which is created; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / "trimtab_trial.py") as temporary:
        shutil.copyfile(trimtab_trial.__file__, temporary)
    return folder


def importing_from(folder: Path, environment: Mapping[str, str]) -> str:
    """Return the PYTHONPATH that adds `folder` to that of `environment`."""
    before = environment.get("PYTHONPATH", os.environ.get("PYTHONPATH"))
    return os.pathsep.join([str(folder.resolve()), *([before] if before else [])])
