"""Where the dynamic linkers of a root file system look for libraries: glibc's and musl's."""

import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase

from trimtab.debloating.files.tree import FileTree, joined
from trimtab.images.node import FileType

CONFIGURATION = "/etc/ld.so.conf"
_MOST_INCLUDES = 100  # more includes of a configuration are ignored: it may be hostile
_ALWAYS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")


def folders_of_linker(tree: FileTree) -> tuple[str, ...]:
    """Return the folders that a whole root's linkers search for any program, in their order.

    They come from the configuration from which `ldconfig` makes glibc's cache. The cache names the
    same libraries unless it is outdated.
    """
    if not tree.is_whole:
        return ()
    every = (*_configured(tree), *_of_musl(tree), *_of_machines(tree), *_ALWAYS)
    return tuple(dict.fromkeys(every))


def variants(tree: FileTree, folder: str, name: str) -> Iterator[str]:
    """Yield where a library's variants for newer processors may be (glibc-hwcaps)."""
    path = f"{folder}/glibc-hwcaps"
    for level in _names(tree, path):
        yield f"{path}/{level}/{name}"


def configuration_files(tree: FileTree) -> list[str]:
    """Return the paths of the configuration of glibc's linker, with all included files."""
    found = {CONFIGURATION: None}
    waiting, patterns = [CONFIGURATION], 0
    while waiting:
        path = waiting.pop(0)
        for words in _statements(tree, path):
            for pattern in words[1:] if words[0] == "include" else ():
                patterns += 1
                if patterns > _MOST_INCLUDES:
                    return list(found)
                whole = posixpath.join(posixpath.dirname(path), pattern)
                new = [name for name in _matching(tree, whole) if name not in found]
                found.update(dict.fromkeys(new))
                waiting += new
    return list(found)


def _configured(tree: FileTree) -> Iterator[str]:
    for path in configuration_files(tree):
        for words in _statements(tree, path):
            if posixpath.isabs(words[0]):
                yield words[0].rstrip("/")


def _statements(tree: FileTree, path: str) -> Iterator[list[str]]:
    for line in tree.lines_at(path):
        if words := line.partition("#")[0].split():
            yield words


def _matching(tree: FileTree, pattern: str) -> list[str]:
    folder, names = posixpath.split(pattern)
    return [f"{folder}/{name}" for name in _names(tree, folder) if fnmatchcase(name, names)]


def _names(tree: FileTree, folder: str) -> list[str]:
    end = tree.walk(folder).end
    return [] if end is None else tree.names.get(end, [])


def _of_musl(tree: FileTree) -> Iterator[str]:
    for path in _matching(tree, "/etc/ld-musl-*.path"):
        for line in tree.lines_at(path):
            yield from (folder for folder in line.split(":") if posixpath.isabs(folder))


def _of_machines(tree: FileTree) -> Iterator[str]:
    """Yield the folders built into Debian's glibc, for one machine type each."""
    for top in ("/lib", "/usr/lib"):
        end = tree.walk(top).end
        for name in _names(tree, top):
            if fnmatchcase(name, "*-linux-gnu*") and (
                tree.nodes[joined(end or "/", name)].kind is FileType.FOLDER
            ):
                yield f"{top}/{name}"
