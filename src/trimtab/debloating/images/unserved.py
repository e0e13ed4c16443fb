"""Programs that ran and that no tracer of functions was in: the library level does not serve them.

Functions are traced where glibc's dynamic linker loads the tracer, but for programs of Go. What
other programs load stays whole.
"""

from collections.abc import Iterable
from pathlib import PurePosixPath

from trimtab.binaries.elf.loading import Loading, read_loading
from trimtab.debloating.files.chosen.groups import executed_in
from trimtab.debloating.files.tree import Tree
from trimtab.records.usage import Usage

_LINKER_OF_MUSL = "ld-musl"


def unserved_programs(tree: Tree, usages: Iterable[Usage]) -> dict[str, str]:
    """Return the programs of `tree` that `usages` saw executed, by path, and what each is.

    That is `static`, `of Go`, `of musl` or `of another C library`. Scripts are as their
    interpreters, and dynamic linkers that others name are no programs.
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
        if loading is not None and (loading.of_go or not loading.by_glibc) and path not in linkers
    }


def _loading(tree: Tree, path: str) -> Loading | None:
    with tree.open_file(path) as file:
        return read_loading(file)


def _kind(loading: Loading) -> str:
    if loading.of_go:
        return "of Go"
    if loading.interpreter is None:
        return "static"
    is_of_musl = PurePosixPath(loading.interpreter).name.startswith(_LINKER_OF_MUSL)
    return "of musl" if is_of_musl else "of another C library"
