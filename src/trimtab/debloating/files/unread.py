"""Files of an environment other than shared libraries, and whether any run read them."""

import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable

from trimtab.debloating.copies.layout import EnvironmentLayout, LayoutEntry
from trimtab.debloating.files.kinds_of_files import kind_of_file
from trimtab.disk_use import disk_bytes
from trimtab.records.manifest import OtherFiles
from trimtab.records.usage import Usage

_READ = {"read", "write", "execute", "map", "map_execute"}


def other_files(
    layout: EnvironmentLayout,
    usages: Iterable[Usage],
    libraries: Container[str],
    goes: Callable[[str], bool],
) -> dict[str, OtherFiles]:
    """Return the sizes of the files of an environment other than `libraries`, by kind.

    `goes` says whether the slim environment lacks a path. A file that was only looked up, such as
    the source of a Python module with byte code, counts as unread. Nothing is returned if a usage
    does not list all used files.
    """
    usages = list(usages)
    if not all(usage.files_complete for usage in usages):
        return {}
    read = {
        file.real_path or file.path
        for usage in usages
        for file in usage.files
        if not _READ.isdisjoint(file.uses)
    }
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for entry in _named_once(layout, read):
        if entry.name in libraries:
            continue
        of_kind, size_bytes = found[kind_of_file(f"/{entry.name}")], disk_bytes(entry.status)
        kept_bytes = 0 if goes(entry.name) else size_bytes
        of_kind.update(files=1, disk_bytes=size_bytes, kept_disk_bytes=kept_bytes)
        if _as_used(layout, entry) not in read:
            of_kind.update(
                unread_files=1, unread_disk_bytes=size_bytes, unread_kept_disk_bytes=kept_bytes
            )
    names = OtherFiles.__dataclass_fields__
    return {
        str(kind): OtherFiles(**{name: numbers[name] for name in names})
        for kind, numbers in sorted(found.items())
    }


def _named_once(layout: EnvironmentLayout, read: Container[str]) -> Iterable[LayoutEntry]:
    """Return each regular file by one of its names, preferably one that was read."""
    chosen: dict[tuple[int, int], LayoutEntry] = {}
    for entry in layout.entries():
        identity = entry.status.st_dev, entry.status.st_ino
        if stat.S_ISREG(entry.status.st_mode) and (
            identity not in chosen or _as_used(layout, entry) in read
        ):
            chosen[identity] = entry
    return chosen.values()


def _as_used(layout: EnvironmentLayout, entry: LayoutEntry) -> str:
    """Return an entry's path in a usage; in a root, the path that programs inside see."""
    return f"/{entry.name}" if layout.is_root else entry.path
