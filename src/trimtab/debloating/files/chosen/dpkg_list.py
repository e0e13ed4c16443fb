"""The Debian packages of which a file stays, listed where scanners look for them.

dpkg's own database would name all that were installed, and one with fewer packages would give the
programs that read it another answer than the original. So it goes, to come back where a program
asks for it, and the packages that stay are files of the folder `status.d` beside it: dpkg passes
that over, while scanners read it as of a distroless image.
"""

import posixpath
import re
from collections.abc import Collection
from pathlib import Path

from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.files.tree import FileTree

STATUS, LIST = "/var/lib/dpkg/status", "status.d"
_PACKAGE = re.compile(r"^Package:[ \t]*([a-z0-9][a-z0-9+.-]*)[ \t]*$", re.MULTILINE)


def add_package_list(copy: Path, tree: FileTree, packages: Collection[str] | None) -> None:
    """List in the slim `copy` of `tree` those of `packages` that dpkg has, or with None all.

    Nothing is listed where the copy has dpkg's database, or the original has none.
    """
    status = tree.file_at(STATUS)
    if status is None or (copy / status[1:]).is_file():
        return
    folder = posixpath.join(posixpath.dirname(status), LIST)[1:]
    listed: dict[str, list[str]] = {}
    for paragraph in re.split(r"\n\n+", tree.text(status).strip("\n")):
        match = _PACKAGE.search(paragraph)
        if match and (packages is None or match[1] in packages):
            listed.setdefault(match[1], []).append(paragraph + "\n")
    if not listed:
        return
    with DirectoryHandle.at(copy) as top, top.folder(folder, make=True) as place:
        for package, paragraphs in sorted(listed.items()):
            # One that is installed for several architectures has several.
            text = "\n".join(paragraphs)
            place.write(package, text.encode("utf-8", "surrogateescape"))
