"""The files of a workload's environment that its runs read, and changes of them.

Snakemake cannot track the thousands of files of an environment, and before the first profile the
relevant ones are unknown. So a profile writes the digests of the files that its runs read to
`read_files.json`. Its input is a small file, written at each start of the workflow, that lists the
changed ones. It holds `{}` until a package is upgraded or a file is edited.
"""

import os
from collections.abc import Iterable
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.files import read_json, sha256_of_all, write_json
from trimtab.records.usage import Usage

CHANGED = Path(".snakemake/environments")
_KNOWN = CHANGED / "known" / "digests.json"
_RECORD = "read_files.json"
_READ = {"read", "map", "map_execute", "execute"}
_HOLD_PATHS = ("pyvenv.cfg", ".pth")  # paths of their machine
Digests = dict[str, str | None]


def remember_read_files(workload: Workload, results: Path, changed: Path | None) -> None:
    """Write to `results` the digests of the files that were read according to its `usage.json`.

    These are files of the workload's environment, and Python sources below the project's folder.
    Files that the program wrote are left out; compiled Python counts as its source. Afterwards, the
    file `changed` lists no change.
    """
    roots = [Path(), *_environments(workload)]
    names = {
        _source(file.real_path or file.path)
        for file in Usage.read(results / "usage.json").files
        if _READ & set(file.uses) and "write" not in file.uses
    }
    counted = {found for name in names for root in roots if (found := _counted(name, root))}
    write_json(results / _RECORD, {"files": _digests(sorted(counted))})
    if changed is not None:
        write_json(changed, {})


@cache
def changed_files(results: str, cell: str) -> str:
    """Return a file, named after the `cell`, that lists the changed files of a profile.

    `results` is the folder of the profile, if there is one. A missing file has the digest null.
    """
    try:
        before: Digests = read_json(Path(results, _RECORD))["files"]
    except (OSError, ValueError, KeyError, UserError):
        before = {}
    now = _digests(before)
    changed = {name: now[name] for name in before if now[name] != before[name]}
    path = CHANGED / f"{cell}.json"
    if _read(path, None) != changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, changed)
    return str(path)


def _environments(workload: Workload) -> list[Path]:
    """The folders of a workload's environment, unless that is an image."""
    if workload.target.is_root:
        return []
    if workload.target.location is not None:
        return [Path(workload.target.location)]
    return [Path(workload.python).parents[1]] if workload.python else []


def _source(name: str) -> str:
    if not name.endswith(".pyc"):
        return name
    try:
        return source_from_cache(name)
    except ValueError:  # a module without a source here
        return name


def _counted(name: str, root: Path) -> str | None:
    """The relative path of the file `name`, if it counts and lies below `root`."""
    inner = os.path.relpath(name, root.resolve())
    if inner.startswith("..") or name.endswith(_HOLD_PATHS):
        return None
    if root == Path() and not name.endswith(".py"):
        return None
    return str(root / inner)


def _digests(names: Iterable[str]) -> Digests:
    """Return the digest of each file, read only where its size, time or inode changed."""
    known: dict[str, list[Any]] = _read(_KNOWN, {})
    found: dict[str, list[Any] | None] = {name: _identity(name) for name in names}
    unread = [
        name
        for name, identity in found.items()
        if identity and known.get(name, [])[:-1] != identity
    ]
    digests = sha256_of_all(map(Path, unread))
    for name in unread:
        known[name] = [*(found[name] or []), digests[Path(name)]]
    if unread:
        _KNOWN.parent.mkdir(parents=True, exist_ok=True)
        write_json(_KNOWN, known)
    return {name: known[name][-1] if identity else None for name, identity in found.items()}


def _identity(name: str) -> list[Any] | None:
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _read(path: Path, otherwise: Any) -> Any:
    try:
        return read_json(path)
    except (OSError, ValueError, UserError):
        return otherwise
