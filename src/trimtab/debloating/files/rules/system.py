"""Files that a root file system needs even if no run opens them."""

import posixpath
from collections.abc import Iterator

from trimtab.debloating.files.closure_rules import ClosureInput, Dependency, KeepReason, KeptPath
from trimtab.debloating.files.linker import configuration_files
from trimtab.images.node import FileType

_MOUNT_POINTS = (
    *("/proc", "/sys", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/run", "/tmp", "/var/tmp"),
    # Engines mount files of their own over these.
    *("/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/mtab"),
)
# Of apk and rpm one file, or one database, is about all packages; distroless images have a file for
# each. Those of dpkg are made anew, of the packages that stay (`files.dpkg`).
_DATABASES = (
    *("/lib/apk/db/installed", "/usr/lib/apk/db/installed", "/etc/alpine-release"),
    *("/etc/apk/repositories", "/etc/apk/world"),
    *("/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/dpkg/status.d"),
)
# glibc loads it when a thread is cancelled or asks for its call stack.
_LOADED_LATE = ("libgcc_s.so.1",)


def users(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep user names, how the C library looks them up, and home folders without content."""
    if not _is_top(root, found):
        return
    for name in ("passwd", "group", "nsswitch.conf"):
        yield Dependency(f"/etc/{name}", KeepReason.USERS)
    for line in root.tree.lines_at("/etc/passwd"):
        fields = line.split(":")
        if len(fields) == 7 and posixpath.isabs(fields[5]):
            end = root.tree.walk(fields[5]).end
            if end is not None and root.tree.nodes[end].kind is FileType.FOLDER:
                yield Dependency(fields[5], KeepReason.USERS)


def loaded_by_c_library(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep, with glibc, the libraries that it loads itself, such as services of nsswitch.conf."""
    if found.name != "libc.so.6" or not root.tree.is_whole:
        return
    names = set(_LOADED_LATE)
    for line in root.tree.lines_at("/etc/nsswitch.conf"):
        for service in line.partition("#")[0].partition(":")[2].split():
            if service.isalnum():  # not an action such as [NOTFOUND=return]
                names.add(f"libnss_{service}.so.2")
    for folder in root.linker_folders:
        for name in sorted(names):
            yield Dependency(f"{folder}/{name}", KeepReason.SERVICE, runs=True)


def linker_configuration(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep, with a dynamic linker, its cache and the configuration of the cache."""
    if not found.runs or not found.name.startswith("ld-") or not root.tree.is_whole:
        return
    yield Dependency("/etc/ld.so.cache", KeepReason.LINKER)
    yield Dependency("/etc/ld.so.preload", KeepReason.LINKER)
    for path in configuration_files(root.tree):
        yield Dependency(path, KeepReason.LINKER)
    for name in root.tree.names.get("/etc", ()):
        if name.startswith("ld-musl-"):
            yield Dependency(f"/etc/{name}", KeepReason.LINKER)


def identity(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the files that identify the system: scanners of packages read them first."""
    if _is_top(root, found):
        yield Dependency("/etc/os-release", KeepReason.IDENTITY)
        yield Dependency("/usr/lib/os-release", KeepReason.IDENTITY)
        yield Dependency("/etc/debian_version", KeepReason.IDENTITY)


def mount_points(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep mount points, and the links at the top such as `/bin` and `/lib`."""
    if not _is_top(root, found):
        return
    for path in _MOUNT_POINTS:
        yield Dependency(path, KeepReason.MOUNT_POINT)
    for name in root.tree.names["/"]:
        if root.tree.nodes[f"/{name}"].kind is FileType.LINK:
            yield Dependency(f"/{name}", KeepReason.LINK)


def package_databases(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the databases from which scanners learn the installed packages, if they are to stay."""
    if root.keeps_databases and _is_top(root, found):
        for path in _DATABASES:
            yield Dependency(path, KeepReason.DATABASE)
            for below in root.tree.below(root.tree.walk(path).end or ""):
                yield Dependency(below, KeepReason.DATABASE)


def _is_top(root: ClosureInput, found: KeptPath) -> bool:
    return root.tree.is_whole and found.path == "/"
