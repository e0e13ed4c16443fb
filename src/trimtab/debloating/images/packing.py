"""Write the slim image from the slim file system and the original image."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from trimtab.debloating.fallback import FALLBACK_LIBRARY
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.images.health_check import is_unserved
from trimtab.debloating.shipping.labels import labels_of
from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression
from trimtab.images.merging import merged_view
from trimtab.images.view import View
from trimtab.images.writing.image import WrittenImage, write_image
from trimtab.images.writing.reference import Reference
from trimtab.processes.root import INIT, STARTED_BY_INIT
from trimtab.profiling.images.health_checks import words_of
from trimtab.profiling.images.unpacked import Unpacked

_OURS = f"/{FALLBACK_LIBRARY.parent}/"
_TAG, _UNNAMED = "slim", "image"
_MAY_RUN = 0o111
_ID = re.compile(r"(?:sha256:)?[0-9a-f]{12,64}")


def _original_name(original: Unpacked) -> str:
    """Return the name of the original for the slim image's label; "" without one."""
    names = (original.engine_name or "", *original.image.names)
    return next((name for name in names if name and not _ID.fullmatch(name)), "")


def slim_name(original: Unpacked) -> str:
    """Return the name of the slim image: the original's with the tag `slim`.

    Raises UserError if an engine has the original by that name.
    """
    for name in (original.engine_name or "", *original.image.names):
        if _ID.fullmatch(name):
            continue
        try:
            found = Reference.parse(name)
        except UserError:  # no valid name, or one with a digest
            continue
        if name == original.engine_name and found.tag == _TAG:
            raise UserError(
                f"{name}: the slim image would take the name of the original; give this one another"
                f" (`docker tag {name} {found.path}:before`)"
            )
        return str(Reference(found.host, found.path, _TAG))
    return f"{_UNNAMED}:{_TAG}"


def pack(
    original: Unpacked,
    slim: Path,
    changed: set[str],
    destination: Path,
    compression: Compression = Compression.GZIP,
) -> WrittenImage:
    """Write the image `destination`: the files of `original` that the folder `slim` still has.

    Raises TrimtabError for a new entry that is no file.
    """
    view, kept = slim_view(original, slim, changed)
    return write_image(
        started(original.image, slim).labelled(labels_of(_original_name(original))),
        view,
        destination,
        name=slim_name(original),
        compression=compression,
        kept=kept,
    )


def started(image: Image, slim: Path) -> Image:
    """Return `image` with INIT in its start commands where the slim file system needs it.

    INIT precedes the entrypoint, and starts it as engines would, if it has to serve programs that
    were traced. It precedes the health check, which engines start separately, if that program loads
    no fallback library.
    """
    starter, run = f"/{INIT}", image.config.run()
    changed: dict[str, object] = {}
    if (slim / STARTED_BY_INIT).is_file() and run.entrypoint[:1] != (starter,):
        changed["Entrypoint"] = [starter, *run.entrypoint]
    check = words_of(run) if (slim / INIT).is_file() else ()
    if check and check[0] != starter and is_unserved(root_tree(slim), run):
        health_check = image.config.document.object("config").object("Healthcheck").values
        changed["Healthcheck"] = {**health_check, "Test": ["CMD", starter, *check]}
    if not changed:
        return image
    return image.started_with(changed)


def slim_view(original: Unpacked, slim: Path, changed: set[str]) -> tuple[View, list[str]]:
    """Return a view of `original` reduced to the folder `slim`, and the paths in it.

    Owners, modes, times, attributes and hard links are from the original's layers. So are contents,
    except for the paths `changed`, files with another size or time, and new files: these come from
    `slim`. Raises TrimtabError for a new entry that is no file.
    """
    view = merged_view(original.image)
    kept = []
    for path, entry in _entries(slim):
        there = view.find(path, follow=False)
        if path.startswith(_OURS) or there is None:
            if entry.is_dir(follow_symlinks=False):
                continue
            if not entry.is_file(follow_symlinks=False):
                raise TrimtabError(f"{entry.path}: new in the slim file system, and no file")
            mode = entry.stat(follow_symlinks=False).st_mode
            view.put_file(path, Path(entry.path), mode=0o755 if mode & _MAY_RUN else 0o644)
        elif path[1:] in changed or _was_written(entry, original.root / path[1:]):
            view.put_file(path, Path(entry.path))
        kept.append(path)
    return view, kept


def _was_written(entry: "os.DirEntry[str]", original: Path) -> bool:
    if not entry.is_file(follow_symlinks=False):
        return False
    slim, before = entry.stat(follow_symlinks=False), original.lstat()
    return (slim.st_size, slim.st_mtime_ns) != (before.st_size, before.st_mtime_ns)


def _entries(top: Path) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Yield every path below `top`, as programs inside see it, each folder before its content."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(f"{top}{folder}") as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = f"{folder}/{entry.name}"
                yield path, entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
