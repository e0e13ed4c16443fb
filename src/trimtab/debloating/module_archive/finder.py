"""Find modules in an archive of byte code, in programs of a slim environment.

A module of the archive takes two or three system calls: the statuses of its folders and its source.
Python's own finder lists folders and opens a file for each. A module comes from here only if
Python's own finder would take the same file. Otherwise this finder says nothing, and Python
searches as ever.

`writing.py` describes the layout, and `native/file_fallback/python_finder.c` reads this code at the
first import. This imports only modules that every Python has when `site` runs.
"""

import _frozen_importlib_external as _external
import _imp
import marshal
import posix
import sys

MYPY = False  # true for type checkers only
if MYPY:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType
    from typing import Any

    Entry = tuple[bool, int, int, int, int]
    Folder = tuple[int, str, bytes]

_LISTS = (list, tuple, _external._NamespacePath)  # type: ignore[attr-defined]
_WHOLE = 0xFFFFFFFF  # byte code has times and sizes of sources modulo 2**32


class ModuleArchive:
    """The modules in the archive, by its index. `start` is the module of python_start.c."""

    def __init__(self, index: "dict[str, Folder]", start: "Any") -> None:
        self._folders, self._start = index, start
        self._modules: dict[str, dict[str, Entry]] = {}  # by folder, then name

    def find_spec(self, name: str, path: "Sequence[str] | None") -> "ModuleSpec | None":
        """Return what Python's own finder would, or None."""
        if path is None:
            path = sys.path
        if not isinstance(path, _LISTS) or not self._start.is_before_python():
            return None
        tail = name.rpartition(".")[2]
        folder = self._folder_of(name, tail, path)
        if folder is None:
            return None
        entry = self._modules[folder][tail]
        place = f"{folder}/{tail}"
        inside, source = ([place], f"{place}/__init__.py") if entry[0] else (None, f"{place}.py")
        if self._is_unchanged(folder) and (not entry[0] or self._is_unchanged(place)):
            loader: Any = _external.SourceFileLoader(name, source)
            spec: Any = _external.spec_from_file_location(
                name, source, loader=loader, submodule_search_locations=inside
            )
        else:
            spec = _external.PathFinder.find_spec(name, [folder])
            if spec is None or type(spec.loader) is not _external.SourceFileLoader:
                return None
            if spec.origin != source:
                return None
        spec.loader.get_code = _CodeOnce(self, spec.loader, entry)
        found: ModuleSpec = spec
        return found

    def _folder_of(self, name: str, tail: str, path: "Sequence[str]") -> "str | None":
        """Return the folder of `path` in which Python finds the module, if the archive has it."""
        last = len(path) - 1
        for number, folder in enumerate(path):
            recorded = self._recorded(folder)
            if recorded is not None and tail in self._modules_in(folder, recorded):
                return folder
            if number == last:
                return None
            if recorded is not None and recorded[1] != "\n" and self._is_unchanged(folder):
                if f"\n{tail}\n" in recorded[1]:
                    return None
            # Such as the folder of the program: does it have a module of that name?
            elif _external.PathFinder.find_spec(name, [folder]) is not None:
                return None
        return None

    def _recorded(self, folder: object) -> "Folder | None":
        """Return a folder of the index, unless it is found by other means than Python's own."""
        if type(folder) is not str or folder not in self._folders:
            return None
        cache = sys.path_importer_cache
        if folder in cache and type(cache[folder]) is not _external.FileFinder:
            return None
        return self._folders[folder]

    def _modules_in(self, folder: str, recorded: "Folder") -> "dict[str, Entry]":
        modules = self._modules.get(folder)
        if modules is None:
            modules = self._modules[folder] = marshal.loads(recorded[2])
        return modules

    def _is_unchanged(self, folder: str) -> bool:
        """Return whether the folder, of the index, has the same names as when it was written."""
        try:
            return posix.stat(folder).st_mtime_ns == self._folders[folder][0]
        except OSError:
            return False

    def code_of(self, path: str, entry: "Entry") -> "CodeType | None":
        """Return the code of the source at `path`; None if that changed or the archive is gone."""
        _, mtime, size, start, end = entry
        try:
            status = posix.stat(path)
            if (int(status.st_mtime) & _WHOLE, status.st_size & _WHOLE) != (mtime, size):
                return None
            code: CodeType | None = self._start.read_code(start, end)
            if code is not None and code.co_filename != path:
                _imp._fix_co_filename(code, path)  # type: ignore[attr-defined]
            return code
        except (OSError, TypeError, AttributeError):
            return None  # Python says what is wrong


class _CodeOnce:
    """The method `get_code` of a loader until it is called: the loader is then as any other."""

    def __init__(self, archive: ModuleArchive, loader: "Any", entry: "Entry") -> None:
        self._archive, self._loader, self._entry = archive, loader, entry

    def __call__(self, fullname: str) -> "CodeType | None":
        """Return the module's code: from the archive, unless its source was changed."""
        loader = self._loader
        loader.__dict__.pop("get_code", None)
        code = self._archive.code_of(loader.get_filename(fullname), self._entry)
        return loader.get_code(fullname) if code is None else code

    def __reduce__(self) -> "tuple[object, ...]":
        """Let a loader be pickled: elsewhere there may be no archive."""
        loader = self._loader
        return getattr, (_external.SourceFileLoader(loader.name, loader.path), "get_code")
