"""The databases by which scanners learn what is installed, where they are to stay."""

from collections.abc import Iterator

from trimtab.debloating.files.keeping import Found, Reason, Root, Wanted

# Of apk and rpm one file, or one database, is about all packages; distroless images have a file
# for each. Those of dpkg are made anew, of the packages that stay (`dpkg_list`).
_OF_A_SYSTEM = (
    *("/lib/apk/db/installed", "/usr/lib/apk/db/installed", "/etc/alpine-release"),
    *("/etc/apk/repositories", "/etc/apk/world"),
    *("/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/dpkg/status.d"),
)


def package_databases(root: Root, found: Found) -> Iterator[Wanted]:
    """Keep those of a whole system, and with a file of a conda package what conda says of it."""
    if not root.keeps_databases:
        return
    if found.path == "/" and root.tree.is_whole:
        for path in _OF_A_SYSTEM:
            yield Wanted(path, Reason.DATABASE)
            for below in root.tree.below(root.tree.walk(path).end or ""):
                yield Wanted(below, Reason.DATABASE)
    elif found.is_file and (record := root.conda_records.get(found.path)) is not None:
        yield Wanted(root.tree.seen(record), Reason.DATABASE)
