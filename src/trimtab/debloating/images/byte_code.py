"""Byte code for the modules of a slim image that had none.

Python compiles such a module at every start of a container, as the written byte code is lost with
the container. The image's own interpreter compiles the remaining modules, as it would itself. Byte
code names its source's time and size, which the layer keeps, so a source changed later is compiled
again. Where the original has byte code, used or not, nothing is added. If the source was removed,
its stand-in has its time and size.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from trimtab.errors import UserError
from trimtab.processes.root import ENGINES_PATH, RootFileSystem

_INTERPRETER = re.compile(r"python3\.\d+")
_PATIENCE_S = 600.0
_PROCESSES = len(os.sched_getaffinity(0))
_COMPILE = """
import importlib.util, os, py_compile, sys
mode = py_compile.PycInvalidationMode.TIMESTAMP
for line in sys.stdin.buffer:
    path = os.fsdecode(line.rstrip(b"\\n"))
    place = sys.argv[1] + importlib.util.cache_from_source(path)
    try:
        py_compile.compile(path, place, path, doraise=True, invalidation_mode=mode)
    except (py_compile.PyCompileError, OSError, ValueError, RecursionError):
        pass  # Python says what is wrong with it where it is imported
"""
# Otherwise the order of sets in byte code would vary.
_ENVIRONMENT = {"PATH": ENGINES_PATH, "PYTHONHASHSEED": "0"}


def is_interpreter(name: str) -> bool:
    """Return whether a file of that name is a Python that can compile modules."""
    return _INTERPRETER.fullmatch(name) is not None


def add_byte_code(original: Path, slim: Path, gone: Collection[str] = ()) -> int:
    """Compile the modules in the root `slim` that have no byte code in `original` either.

    `gone` are further sources, as programs see them, that only `original` has. Return the bytes of
    the new files. Nothing is added unless exactly one version of Python stays and runs by itself.
    The same files give the same byte code.
    """
    interpreters = sorted(_interpreters(slim), key=lambda path: (path.count("/"), path))
    sources = sorted({*_modules(slim), *(path for path in gone if "\n" not in path)})
    modules = [path for path in sources if not _is_compiled(original, path)]
    if len({Path(path).name for path in interpreters}) != 1 or not modules:
        return 0
    with TemporaryDirectory() as place:
        made = Path(place).resolve()
        if not _all_compiled(
            RootFileSystem(original, binds=(made,)), interpreters[0], modules, made
        ):
            return 0
        return sum(_taken_over(made, slim, path) for path in modules)


def _interpreters(slim: Path) -> Iterator[str]:
    for path, entry in _files(slim):
        if is_interpreter(entry.name) and entry.stat(follow_symlinks=False).st_mode & 0o111:
            yield path


def _modules(slim: Path) -> Iterator[str]:
    """Yield the sources in the root, as programs inside see them."""
    return (path for path, _ in _files(slim) if path.endswith(".py") and "\n" not in path)


def _is_compiled(original: Path, path: str) -> bool:
    """Whether the original has byte code of the module, for any version."""
    place = _place(original, path)
    return place.is_symlink() or any(_byte_code_in(place, path))


def _all_compiled(root: RootFileSystem, interpreter: str, modules: list[str], made: Path) -> bool:
    """Compile the modules in parallel, one interpreter per processor."""
    parts = [modules[first::_PROCESSES] for first in range(min(_PROCESSES, len(modules)))]
    with ThreadPoolExecutor(_PROCESSES) as pool:
        return all(pool.map(lambda part: _compiled(root, interpreter, part, made), parts))


def _compiled(root: RootFileSystem, interpreter: str, modules: list[str], made: Path) -> bool:
    """Have the original's interpreter write byte code below `made`; return whether it did."""
    command = [interpreter, "-I", "-S", "-B", "-c", _COMPILE, str(made)]
    names = b"".join(os.fsencode(path) + b"\n" for path in modules)
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        process = root.start(command, Path("/"), None, env=_ENVIRONMENT, **options)
    except UserError:
        return False
    try:
        process.communicate(names, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode == 0


def _taken_over(made: Path, slim: Path, path: str) -> int:
    """Copy the byte code of one module to where Python looks for it; return its bytes."""
    size_bytes = 0
    source, place = _place(made, path), _place(slim, path)
    if source.resolve() != source:  # a link that the image's interpreter made, leading elsewhere
        return 0
    for found in _byte_code_in(source, path):
        if found.is_file() and not found.is_symlink():
            place.mkdir(exist_ok=True)
            shutil.copyfile(found, place / found.name)
            size_bytes += found.stat().st_size
    return size_bytes


def _place(top: Path, path: str) -> Path:
    """Return the folder for the byte code of a module of the root `top`."""
    return Path(f"{top}{path.rpartition('/')[0]}/__pycache__")


def _byte_code_in(place: Path, path: str) -> list[Path]:
    stem = path.rpartition("/")[2].removesuffix(".py")
    names = sorted(os.listdir(place)) if place.is_dir() else []
    return [place / name for name in names if re.fullmatch(rf"{re.escape(stem)}\..*pyc", name)]


def _files(top: Path) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Yield the regular files below `top`, each with its path as programs inside see it."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(f"{top}{folder}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}/{entry.name}")
                elif entry.is_file(follow_symlinks=False):
                    yield f"{folder}/{entry.name}", entry
