"""The configuration of a job: a file that it is given, and what its results depend on of it."""

import hashlib
from pathlib import Path
from typing import Any

from trimtab.config.stages import dump
from trimtab.files import write_whole

_FOLDER = Path(".snakemake/configuration")


class Configured(str):
    """The path of a job's configuration, as a parameter of Snakemake's.

    Snakemake records a parameter by its representation, and runs a job again when that is another
    one. It is what results depend on of the configuration, so that no other key reruns anything,
    and so that a clone, which has the records alone, can tell what has changed.
    """

    _results_depend_on: str

    def __new__(cls, path: Path, results_depend_on: str) -> "Configured":
        """Return `path` with the JSON of what results depend on."""
        self = super().__new__(cls, path)
        self._results_depend_on = results_depend_on
        return self

    def __repr__(self) -> str:
        return self._results_depend_on


def configured(stage: Any) -> Configured:
    """Write the configuration of a stage into a file of its own; return that as a parameter."""
    results_depend_on = dump(stage, results_only=True)
    digest = hashlib.sha256(results_depend_on.encode()).hexdigest()[:16]
    path, data = _FOLDER / f"{type(stage).__name__}-{digest}.json", dump(stage).encode()
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    return Configured(path, results_depend_on)
