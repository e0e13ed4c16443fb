"""The package of each path of a tree, from the databases of dpkg, apk, conda and pip."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping

from trimtab.debloating.files.dpkg import owned_paths
from trimtab.debloating.files.python_distributions import Distributions
from trimtab.debloating.files.tree import FileTree, joined

APK = ("/lib/apk/db/installed", "/usr/lib/apk/db/installed")
_BYTE_CODE = re.compile(r"(.*)/__pycache__/([^/.]+)\.[^/]*\.pyc\Z")
_OF_CONDA = re.compile(r"/conda-meta/[^/]*\.json\Z")
_MOST_CONDA_BYTES = 1 << 26


def packages_of(tree: FileTree) -> dict[str, str]:
    """Return the package of each path that a package installed, such as `dpkg:libc6`.

    Where several claim a path, the one installed as a whole last counts: conda's, then pip's, then
    dpkg's and apk's. Python modules of Debian's packages, which also have metadata, are dpkg's.
    Files without a package and damaged entries are left out.
    """
    owners: dict[str, str] = {}
    for path, package in (*owned_paths(tree), *_of_apk(tree)):
        owners[path] = package
    conda = ((path, f"conda:{name}") for path, _, name in conda_files(tree))
    for path, package in (*_of_pip(tree, owners), *conda):
        owners[path] = package
    for path in tree.nodes:
        if path not in owners and (match := _BYTE_CODE.match(path)):
            source = joined(match[1] or "/", f"{match[2]}.py")
            if source in owners:
                owners[path] = owners[source]
    return owners


def _of_apk(tree: FileTree) -> Iterator[tuple[str, str]]:
    """Read apk's database: one letter per field, `P` a package, `F` a folder, `R` a file in it."""
    for database in APK:
        package = folder = ""
        for line in tree.own_text(database).splitlines():
            key, _, value = line.partition(":")
            if key == "P":
                package = value
            elif key == "F":
                folder = f"/{value}" if value else ""
            elif key == "R" and (path := f"{folder}/{value}") in tree.nodes:
                yield path, f"apk:{package}"


def _of_pip(tree: FileTree, owners: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    distributions = Distributions.of(tree)
    of_debian = distributions.of_others(owners)
    for path, metadata in distributions.metadata_of.items():
        if metadata not in of_debian:
            yield path, f"pip:{distributions.names[metadata]}"


def conda_files(tree: FileTree) -> Iterator[tuple[str, str, str]]:
    """Yield each path of a conda package, the path of conda's record, and the package's name."""
    for path in sorted(filter(_OF_CONDA.search, tree.nodes)):
        try:
            document = json.loads(tree.own_text(path, _MOST_CONDA_BYTES))
        except (ValueError, RecursionError):
            continue
        if not isinstance(document, dict) or not isinstance(document.get("files"), list):
            continue
        prefix = posixpath.dirname(posixpath.dirname(path))
        for file in document["files"]:
            if isinstance(file, str) and (at := joined(prefix, file)) in tree.nodes:
                yield at, path, str(document.get("name"))
