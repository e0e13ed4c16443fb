"""A digest of a workload's program, which identifies its results."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError
from trimtab.files import sha256_of
from trimtab.profiling.runs.from_workload import command_line
from trimtab.sources import sources_of


def digest_of(workload: Workload) -> str:
    """Return a digest of the command, the files that it names, and the modules that they import.

    Modules of this project and modules beside a file count; installed ones are left out.
    """
    parts = [command_line(workload), workload.env, workload.workdir, workload.python]
    files: set[Path] = set()
    for word in command_line(workload):
        with suppress(OSError, ValueError):  # not a path
            path = Path(workload.workdir, word)
            if path.is_file():
                files |= {path.resolve()}
                if path.suffix == ".py":
                    files |= {*sources_of([path]), *sources_of([path], path.resolve().parent)}
    contents = []
    for path in sorted(files):
        with suppress(OSError, TrimtabError):
            contents.append(sha256_of(path))
    return hashlib.sha256(json.dumps([*parts, contents]).encode()).hexdigest()
