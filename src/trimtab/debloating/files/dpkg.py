"""dpkg's database: what it says is installed, and a list of what stays, where scanners look for it.

The database would name all packages that were installed, and one with fewer would give the programs
that read it another answer than the original. So it goes, to come back where a program asks for it,
and the packages of which a file stays are files of the folder `status.d` beside it: dpkg passes
that over, while scanners read it as of a distroless image.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.files.tree import FileTree, joined

_STATUS, _INFO = "/var/lib/dpkg/status", "/var/lib/dpkg/info"
_LIST, _SUMS = "status.d", ".md5sums"
_BLANK = re.compile(r"\n\s*\n")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*")


def owned_paths(tree: FileTree) -> Iterator[tuple[str, str]]:
    """Yield each path that is no folder with its package, as `dpkg:libc6`."""
    places: dict[str, str | None] = {}
    for name in tree.names.get(_INFO, ()):
        if not name.endswith(".list"):
            continue
        package = name.removesuffix(".list").partition(":")[0]
        for line in tree.own_text(joined(_INFO, name)).splitlines():
            # Where /lib is a link to /usr/lib, lists name files by either.
            folder, base = posixpath.split(line)
            if folder not in places:
                places[folder] = tree.walk(folder).end if folder.startswith("/") else None
            place = places[folder]
            at = joined(place or "/", base)
            if place is not None and at in tree.nodes and at not in tree.names:
                yield at, f"dpkg:{package}"


def installed(tree: FileTree) -> tuple[list[dict[str, str]], dict[str, set[str]]]:
    """Return the fields of each package, and by package the paths that a distroless image lists."""
    texts, paths_of = [tree.own_text(_STATUS)], defaultdict[str, set[str]](set)
    folder = joined(posixpath.dirname(_STATUS), _LIST)
    for name in tree.names.get(folder, ()):
        text = tree.own_text(joined(folder, name))
        if name.endswith(_SUMS):
            listed = (f"/{line.partition('  ')[2]}" for line in text.splitlines())
            paths_of[name.removesuffix(_SUMS)].update(p for p in listed if p in tree.nodes)
        else:
            texts.append(text)
    found = map(fields_of, _BLANK.split("\n\n".join(texts)))
    return [it for it in found if it.get("Status", " installed").endswith(" installed")], paths_of


def add_package_list(copy: Path, tree: FileTree, packages: Collection[str] | None) -> None:
    """List in the slim `copy` of `tree` those of `packages` that dpkg has, or with None all.

    Nothing is listed where the copy has dpkg's database, or the original has none.
    """
    status = tree.file_at(_STATUS)
    if status is None or (copy / status[1:]).is_file():
        return
    folder = posixpath.join(posixpath.dirname(status), _LIST)[1:]
    listed: dict[str, list[str]] = {}
    for stanza in _BLANK.split(tree.text(status).strip("\n")):
        name = fields_of(stanza).get("Package", "")
        if _PACKAGE.fullmatch(name) and (packages is None or name in packages):
            listed.setdefault(name, []).append(stanza + "\n")
    if not listed:
        return
    with DirectoryHandle.at(copy) as top, top.folder(folder, make=True) as place:
        for package, found in sorted(listed.items()):
            # One that is installed for several architectures has several.
            place.write(package, "\n".join(found).encode("utf-8", "surrogateescape"))


def fields_of(stanza: str) -> dict[str, str]:
    """Return the fields of a stanza of `Key: value` by name, the first one of a name."""
    fields: dict[str, str] = {}
    for line in stanza.split("\n"):
        key, colon, value = line.partition(":")
        if colon and not key[:1].isspace():
            fields.setdefault(key, value.strip())
    return fields
