"""The first code of an archive: runs at each start of a slim environment's Python.

It is small, as most of such a start is what the environment adds. The finder is read at the first
import that it may answer. writing.py adds FOLDERS, and `native/file_fallback/python_start.c` calls
`start`. This imports only modules that every Python has when `site` runs.
"""

import _frozen_importlib_external as _external
import marshal
import posix
import sys

MYPY = False  # true for type checkers only
if MYPY:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    _module: ModuleType
    _path: str
    _places: list[int]
    _token: bytes
    _as_ever: tuple[object, ...]

FOLDERS: "dict[str, int]" = {}  # without modules of AT_EACH_START: path and time in ns
_NAME = "trimtab_modules"
_find: "Any" = None
AT_EACH_START = ("sitecustomize", "usercustomize")  # `site` asks for these, which rarely exist
_IMPORTING = 4  # frames between `site` and a finder
_HOOKS = len(sys.path_hooks)
_METHODS = (
    "get_code", "source_to_code", "get_data", "get_filename", "path_stats", "create_module",
    "exec_module",
)  # fmt: skip


def replaceable() -> "tuple[object, ...]":
    """Return what a program may replace to find or load modules in its own way.

    Hooks that are added after Python's own are asked for no folder.
    """
    loader = _external.SourceFileLoader
    return (
        _external.PathFinder.__dict__.get("find_spec"),
        _external.FileFinder.find_spec,
        *[getattr(loader, name, None) for name in _METHODS],
        *sys.path_hooks[:_HOOKS],
        sys.pycache_prefix,
    )


def is_before_python() -> bool:
    """Return whether Python's own finder is the next one, and as it was at the start."""
    finders = sys.meta_path
    try:
        after = finders[finders.index(_module) + 1]
    except (ValueError, IndexError):
        return False
    return after is _external.PathFinder and replaceable() == _as_ever


def find_spec(
    name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
) -> "ModuleSpec | None":
    """Return what Python's own finder would, or None."""
    global _find
    if name in AT_EACH_START:
        if _is_absent():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None
    if _find is None:
        _find = _finder()
    found: ModuleSpec | None = _find(name, path)
    return found


def _is_absent() -> bool:
    """Return whether `site` imports, and no folder that Python would search has such a module."""
    try:
        if sys._getframe(_IMPORTING + 1).f_globals.get("__name__") != "site":
            return False
        if not is_before_python() or sys.meta_path[-1] is not _external.PathFinder:
            return False
        return all(map(_is_without, sys.path))
    except (OSError, ValueError, TypeError):
        return False


def _is_without(folder: str) -> bool:
    """Return whether a folder of the search path has no module of AT_EACH_START."""
    importer = sys.path_importer_cache.get(folder, _external.FileFinder)
    if importer is None:
        return True
    try:
        time = posix.stat(folder).st_mtime_ns
    except FileNotFoundError:  # in most cases of python311.zip
        return True
    is_usual = _external.FileFinder in (importer, type(importer))
    return is_usual and FOLDERS.get(folder) == time


def _finder() -> "Any":
    """Return the finder's function, or one that finds nothing if the archive is gone."""
    begin, index, end = _places
    try:
        descriptor = posix.open(_path, posix.O_RDONLY | posix.O_CLOEXEC)
        try:
            text = memoryview(posix.pread(descriptor, end - begin, begin))
        finally:
            posix.close(descriptor)
        size = len(_token)
        if text[:size] != _token:
            raise ValueError
        names: dict[str, Any] = {"start": _module}
        exec(marshal.loads(text[size:]), names)
        return names["ModuleArchive"](_path, _token, text[index - begin :]).find_spec
    except (OSError, EOFError, ValueError, TypeError):
        return lambda name, path: None


def start(module: "ModuleType", path: str, places: bytes) -> bool:
    """Put `module`, this one, before Python's finder; the archive is at `path`.

    Return whether `site` will run the lines of `site-packages` a second time, as in a venv.

    `places` say where the finder's code and the index begin and the index ends, and have the token.
    A Python that optimizes has other byte code, and one with a prefix for it has it elsewhere.
    """
    global _module, _path, _places, _token, _as_ever
    begin, index, end = _places = [
        int.from_bytes(places[at : at + 8], "little") for at in (0, 8, 16)
    ]
    _module, _path, _token, _as_ever = module, path, places[24:], replaceable()
    # Forget folders that Python listed before the library was loaded, which lists removed files
    # too. The base Python of a venv lost no files.
    for folder in [*sys.path_importer_cache]:
        if folder.startswith(sys.prefix) or not folder.startswith(sys.base_prefix):
            del sys.path_importer_cache[folder]
    is_usual = not sys.flags.optimize and sys.pycache_prefix is None
    if begin < index < end and is_usual and _external.PathFinder in sys.meta_path:
        finders: list[Any] = sys.meta_path
        finders.insert(finders.index(_external.PathFinder), module)
    sys.modules[_NAME] = module
    return sys.prefix != sys.base_prefix
