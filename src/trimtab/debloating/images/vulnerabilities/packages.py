"""The packages of a tree with their versions, named as in advisories (OSV schema)."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trimtab.debloating.files.dpkg import fields_of, installed
from trimtab.debloating.files.packages import APK, packages_of
from trimtab.debloating.files.python_distributions import Distributions
from trimtab.debloating.files.tree import FileTree, joined
from trimtab.images.node import FileType

_OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")
_SOURCE = re.compile(r"(\S+)(?: \((\S+)\))?")
_NODE_PACKAGE = re.compile(r".*/node_modules/(?:@[^/]+/)?[^/@.][^/]*(?=/)")
_Paths = defaultdict[str, set[str]]
_ECOSYSTEMS = {"debian": "Debian", "ubuntu": "Ubuntu", "alpine": "Alpine"}


@dataclass(frozen=True)
class Package:
    """An installed package: its ecosystem, such as `Debian:12`, its name and its version.

    `source` and `source_version` are the names in advisories; for a distribution, the source
    package. `paths` are its files in the tree, empty if no database lists them.
    """

    ecosystem: str
    name: str
    version: str
    source: str
    source_version: str
    paths: frozenset[str]

    @property
    def identity(self) -> tuple[str, str, str]:
        """The package's identity, independent of its place."""
        return self.ecosystem, self.name, self.version


def packages_in(tree: FileTree) -> list[Package]:
    """Return the packages that dpkg, apk, pip and npm list; damaged entries are ignored.

    os-release gives the release for packages of a distribution.
    """
    release, owners = _release(tree), packages_of(tree)
    paths_of = _Paths(set)
    for path, owner in owners.items():
        paths_of[owner].add(path)
    return [
        *_of_dpkg(tree, paths_of, release),
        *_of_apk(tree, paths_of, release),
        *_of_pip(tree, owners),
        *_of_npm(tree),
    ]


def packages_left(before: Iterable[Package], tree: FileTree) -> list[Package]:
    """Return the packages of `tree` that still have a file, by its databases and by `before`.

    A file that no database in `tree` lists keeps the package that it had before.
    """
    files = {path for path, node in tree.nodes.items() if node.kind is FileType.FILE}
    own = packages_in(tree)
    claimed = frozenset[str]().union(*(package.paths for package in own))
    earlier = {package.identity: package.paths for package in before}
    left = {
        package.identity: package
        for package in own
        if not (paths := package.paths or earlier.get(package.identity, frozenset()))
        or paths & files
    }
    for package in before:
        if (package.paths - claimed) & files:
            left.setdefault(package.identity, package)
    return sorted(left.values(), key=lambda package: package.identity)


def _release(tree: FileTree) -> str:
    """Return the ecosystem of the distribution, such as `Debian:12`; "" if unknown."""
    lines = next((lines for path in _OS_RELEASE if (lines := tree.lines_at(path))), [])
    told = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    ecosystem, version = _ECOSYSTEMS.get(told.get("ID", "")), told.get("VERSION_ID", "")
    if ecosystem is None or not version:
        return ecosystem or ""
    if ecosystem == "Alpine":
        version = "v" + ".".join(version.split(".")[:2])
    return f"{ecosystem}:{version}"


def _of_dpkg(tree: FileTree, paths_of: _Paths, release: str) -> Iterator[Package]:
    found, listed = installed(tree)
    for fields in found:
        package, version = fields.get("Package"), fields.get("Version")
        if not package or not version:
            continue
        source = _SOURCE.match(fields.get("Source", package))
        paths = frozenset(paths_of[f"dpkg:{package}"] | listed[package])
        name, of_source = (source[1], source[2]) if source else (package, None)
        yield Package(release, package, version, name, of_source or version, paths)


def _of_apk(tree: FileTree, paths_of: _Paths, release: str) -> Iterator[Package]:
    """Read apk's database, whose fields have one-letter names."""
    for stanza in "\n\n".join(tree.own_text(path) for path in APK).split("\n\n"):
        fields = fields_of(stanza)
        if "P" in fields and "V" in fields:
            name, version = fields["P"], fields["V"]
            paths = frozenset(paths_of[f"apk:{name}"])
            yield Package(release, name, version, fields.get("o", name), version, paths)


def _of_pip(tree: FileTree, owners: Mapping[str, str]) -> Iterator[Package]:
    distributions = Distributions.of(tree)
    paths_of = defaultdict(set)
    for path, metadata in distributions.metadata_of.items():
        if tree.nodes[path].kind is FileType.FILE:
            paths_of[metadata].add(path)
    # Packages of the system have their own advisories.
    for metadata in sorted(distributions.names.keys() - distributions.of_others(owners)):
        places = (joined(metadata, "METADATA"), joined(metadata, "PKG-INFO"), metadata)
        text = next((text for place in places if (text := tree.own_text(place))), "")
        fields = fields_of(text.partition("\n\n")[0])
        if "Name" in fields and "Version" in fields:
            name = re.sub(r"[-_.]+", "-", fields["Name"]).lower()  # PEP 503
            # A local version (`+cpu`) is a build of the public version; advisories name the latter.
            version = fields["Version"]
            public = version.partition("+")[0]
            yield Package("PyPI", name, version, name, public, frozenset(paths_of[metadata]))


def _of_npm(tree: FileTree) -> Iterator[Package]:
    paths_of = defaultdict(set)
    for path, node in tree.nodes.items():
        if node.kind is FileType.FILE and (found := _NODE_PACKAGE.match(path)):
            paths_of[found[0]].add(path)
    for folder, paths in paths_of.items():
        try:
            document = json.loads(tree.own_text(joined(folder, "package.json")))
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            name, version = document.get("name"), document.get("version")
            if isinstance(name, str) and isinstance(version, str):
                yield Package("npm", name, version, name, version, frozenset(paths))
