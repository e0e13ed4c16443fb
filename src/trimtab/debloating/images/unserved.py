"""Programs that load no library of ours, so the fallback libraries do not serve them.

glibc's dynamic linker loads the tracer and the fallback, which work except in programs of Go.
Libraries that other programs load are left unchanged, and trimtab-init restores files for these
programs.
"""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TypeGuard

from trimtab.binaries.elf.loading import Loading, read_loading
from trimtab.debloating.files.chosen.groups import executed_in
from trimtab.debloating.files.tree import FileTree
from trimtab.records.usage import Usage

_LINKER_OF_MUSL = "ld-musl"
_LONGEST_LINE, _MOST_INTERPRETERS = 256, 5  # limits of the kernel (execve(2))


def unserved_programs(tree: FileTree, usages: Iterable[Usage]) -> dict[str, str]:
    """Return the executed programs of `tree` that load no library of ours, with their kind.

    The kind is `static`, `of Go`, `of musl` or `of another C library`. A script counts as its
    interpreter. A dynamic linker that another program names is not a program.
    """
    found = {path: _loading(tree, path) for path in executed_in(tree, usages)}
    linkers = {
        tree.file_at(loading.interpreter)
        for loading in found.values()
        if loading is not None and loading.interpreter is not None
    }
    return {
        path: _kind(loading)
        for path, loading in sorted(found.items())
        if _is_unserved(loading) and path not in linkers
    }


def starts_unserved(tree: FileTree, path: str) -> bool:
    """Return whether executing the file `path` of `tree` starts such a program.

    A script starts its interpreter.
    """
    end = tree.file_at(path)
    for _ in range(_MOST_INTERPRETERS):
        if end is None:
            return False
        line = tree.text(end, _LONGEST_LINE).partition("\n")[0]
        words = line.removeprefix("#!").split()
        if not line.startswith("#!") or not words:
            return _is_unserved(_loading(tree, end))
        end = tree.file_at(words[0])
    return False


def _is_unserved(loading: Loading | None) -> TypeGuard[Loading]:
    return loading is not None and (loading.of_go or not loading.by_glibc)


def _loading(tree: FileTree, path: str) -> Loading | None:
    with tree.open_file(path) as file:
        return read_loading(file)


def _kind(loading: Loading) -> str:
    if loading.of_go:
        return "of Go"
    if loading.interpreter is None:
        return "static"
    is_of_musl = PurePosixPath(loading.interpreter).name.startswith(_LINKER_OF_MUSL)
    return "of musl" if is_of_musl else "of another C library"
