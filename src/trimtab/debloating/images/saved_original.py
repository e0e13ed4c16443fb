"""The archive of an engine's image that a slim environment was made of."""

import os
from collections.abc import Sequence
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.profiling.images.unpacked import use_saved
from trimtab.records.manifest import Manifest


def use_saved_original(folder: Path, workloads: Sequence[Workload]) -> None:
    """Take the original of the slim environment in `folder` from the cache, not from an engine.

    The name may be of another image by now, and on this machine there may be no engine. Without the
    archive, which the manifest names, the engine is asked.
    """
    named = {
        workload.target.location
        for workload in workloads
        if workload.target.kind == "image" and workload.target.location
    }
    manifest = folder / "manifest.json"
    for name in named:
        if not os.path.lexists(Path(name).expanduser()) and manifest.is_file():
            use_saved(name, Path(Manifest.read(manifest).environment.location))
