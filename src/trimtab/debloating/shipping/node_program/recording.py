"""A program that prints, as JSON, what modules of Python need; it runs without trimtab.

    python -I -S -B recording.py FOLDER "MODULE..." "LIBRARY..."

It finds every module that FOLDER's modules import, also inside functions. Then it loads the
compiled ones, and reads from /proc/self/maps which libraries the dynamic linker brought.
"""

import importlib
import json
import sys
from ctypes import CDLL
from modulefinder import ModuleFinder
from pathlib import Path

# Tools of the standard library that others import for their own command lines, and what urllib3
# takes only if it is there.
_LEFT_OUT = [
    "_bz2",
    "_lzma",
    "_testcapi",
    "_testinternalcapi",
    "_tkinter",
    "asyncio",
    "bz2",
    "curses",
    "distutils",
    "doctest",
    "ensurepip",
    "ftplib",
    "idlelib",
    "lib2to3",
    "lzma",
    "multiprocessing",
    "pdb",
    "pydoc",
    "pydoc_data",
    "readline",
    "rlcompleter",
    "sqlite3",
    "statistics",
    "tarfile",
    "test",
    "tkinter",
    "turtle",
    "unittest",
    "venv",
    "webbrowser",
    "wsgiref",
    "xmlrpc",
]


def record(folder: Path, names: list[str], libraries: list[str]) -> dict[str, object]:
    """Return the needs of the modules `names` of `folder`, and of `libraries` opened by name.

    `sources` maps names of modules to their files, `compiled` those of extension modules, `missing`
    those that cannot be loaded to the reason. `mapped` are the programs in memory.
    """
    finder = ModuleFinder([str(folder), *sys.path[1:]], excludes=_LEFT_OUT)
    sources, compiled, missing = {}, {}, {}
    for name in names:
        try:
            finder.import_hook(name)
        except ImportError as error:
            missing[name] = str(error)
    for name, module in finder.modules.items():
        file: str | None = module.__file__  # type: ignore[attr-defined]  # a class of its own
        if file is None:  # built in
            continue
        if file.endswith(".py"):
            sources[name] = file
            continue
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing[name] = str(error)
        else:
            compiled[name] = file
    for library in libraries:
        try:
            CDLL(library)
        except OSError as error:
            missing[library] = str(error)
    return {
        "sources": sources,
        "compiled": compiled,
        "missing": missing,
        "mapped": sorted(_mapped()),
    }


def _mapped() -> set[str]:
    lines = Path("/proc/self/maps").read_text().splitlines()
    fields = [line.split(maxsplit=5) for line in lines]
    return {each[5] for each in fields if len(each) == 6 and "x" in each[1] and each[5][0] == "/"}


if __name__ == "__main__":
    folder, given_names, given_libraries = sys.argv[1:]
    found = record(Path(folder), given_names.split(), given_libraries.split())
    json.dump(found, sys.stdout)
