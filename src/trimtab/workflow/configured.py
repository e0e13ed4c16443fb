"""The configuration file of a job, and the part of it that results depend on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trimtab.config.stages import dump
from trimtab.files import write_whole

_FOLDER = Path(".snakemake/configuration")


class Configured(str):
    """The path of a job's configuration, as a parameter of Snakemake's.

    Snakemake records a parameter's representation, and reruns a job when it changes. Here it holds
    the part of the configuration that results depend on, so other keys rerun nothing. A clone with
    only these records can tell which keys have changed.
    """

    _results_depend_on: str

    def __new__(cls, path: Path, results_depend_on: str) -> "Configured":
        """Return `path` with the JSON that results depend on."""
        self = super().__new__(cls, path)
        self._results_depend_on = results_depend_on
        return self

    def __repr__(self) -> str:
        return self._results_depend_on


def configured(stage: Any) -> Configured:
    """Write the configuration of a stage to a file; return it as a parameter."""
    results_depend_on = dump(stage, results_only=True)
    path = _write(type(stage).__name__, results_depend_on, dump(stage))
    return Configured(path, results_depend_on)


def write_manifest(results: Mapping[str, Sequence[str]]) -> str:
    """Write which files each stage hands on into a JSON file of its own; return its path."""
    text = json.dumps(results)
    return str(_write("manifest", text, text))


def _write(name: str, key: str, text: str) -> Path:
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    path, data = _FOLDER / f"{name}-{digest}.json", text.encode()
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    return path
