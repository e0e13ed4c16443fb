"""Write the archive of byte code of a slim Python environment.

The archive begins with the interpreter's magic number of 4 bytes, three numbers of 8 bytes, little
endian, and a token of 8 bytes. The numbers are where the finder's code and the index begin and the
index ends. A dictionary follows, of folders of the search path without modules of _AT_EACH_START,
with their times in ns, and zeros up to 4 KiB; then the byte code of all modules, the finder's code
and the index. `native/file_fallback/python_start.c` reads the beginning. Before the finder's code
stands the token again, as another archive may have taken the place of the one that was begun.

`marshal` writes code, the dictionary and the index: the folders of modules. A folder has its time
in ns, the names of modules that it may have (none for a package's own folder), and its modules,
again written by `marshal`. A module has whether it is a package, the time and size of its source,
and where its byte code begins and ends.
"""

import glob
import hashlib
import json
import marshal
import os
import re
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path

from trimtab.debloating.fallback import ARCHIVE
from trimtab.debloating.module_archive import finder
from trimtab.records.usage import Usage

_BYTE_CODE = re.compile(r"(?P<folder>.*)/__pycache__/(?P<stem>[^/]+)\.(?P<tag>[\w-]+)\.pyc")
_PATIENCE_S = 60.0
FIRST_BYTES = 1 << 12
_AT_EACH_START = ("sitecustomize", "usercustomize")  # `site` asks for these, which rarely exist
_TOKEN_BYTES = 8
_HEADER = struct.Struct(f"<4s3Q{_TOKEN_BYTES}s")
_PYC_HEADER = struct.Struct("<4s3I")  # magic number, flags, the source's time and size (PEP 552)
_MARSHAL = 4  # the format that all supported interpreters read
_WHOLE = 0xFFFFFFFF
_COMPILE = """
import _frozen_importlib_external as e, _imp, json, marshal, sys
assert sys.version_info >= (3, 8) and ".abi3.so" in _imp.extension_suffixes()
code = compile(sys.stdin.read(), "<trimtab modules>", "exec", dont_inherit=True, optimize=2)
json.dump([e.MAGIC_NUMBER.hex(), sys.implementation.cache_tag, sys.base_prefix, sys.path,
           marshal.dumps(code).hex()], sys.stdout)
"""


class Loading(IntEnum):
    """When a start loads the fallback, as native/file_fallback/python_start.c reads it."""

    NEVER = 0
    WITH_THREADS = 1  # at the first thread, or by a library that names it
    AT_ONCE = 2


def hook(fallback: Loading) -> str:
    """Return the line of a .pth file in `site-packages` by which Python starts with the archive.

    It loads the file fallback, which sees to the other `fallback` and starts the archive, unless
    that is gone, cut off or of another Python. The line is short, as Python compiles it at each
    start; `site` may run it twice.
    """
    return (
        "import _imp, _frozen_importlib as i; _imp.create_dynamic(i.ModuleSpec("
        "'trimtab_file_fallback', None, origin=sitedir + '/trimtab_file_fallback.abi3.so'))"
        f".start({fallback:d})\n"
    )


@dataclass(frozen=True)
class ArchivedModule:
    """A module: the folder in which Python finds it, its source's time and size, its byte code.

    Paths are as programs of the original environment see them; times and sizes modulo 2**32.
    """

    folder: str
    name: str
    is_package: bool
    mtime: int
    size_bytes: int
    byte_code: str


@dataclass(frozen=True)
class _Compiled:
    """The finder's code for an interpreter of this magic number, cache tag, prefix and path."""

    magic: bytes
    tag: str
    base: Path
    search: tuple[str, ...]
    code: bytes


def byte_code_read(usages: Iterable[Usage]) -> list[str]:
    """Return the paths of the byte code that the runs of `usages` read, sorted."""
    return sorted(
        {
            file.path
            for usage in usages
            for file in usage.files
            if "read" in file.uses and _BYTE_CODE.fullmatch(file.path)
        }
    )


def archived(root: Path, byte_code: Iterable[str], python: Path) -> list[ArchivedModule]:
    """Return the modules of `byte_code`, paths that programs of `root` read, for an archive.

    Left out is byte code of programs outside the environment and its standard library, and what
    `python` would not take: of another interpreter, stale, not compared by time, or without its
    source at its side.
    """
    compiled = _compiled_for(python)
    if compiled is None:
        return []
    places = (root, compiled.base)
    inside = [path for path in byte_code if any(map(Path(path).is_relative_to, places))]
    modules = (_module_of(path, compiled) for path in inside)
    return [module for module in modules if module is not None]


def can_start(python: Path) -> bool:
    """Return whether the interpreter `python` can start by an archive."""
    return _compiled_for(python) is not None


def write_archive(
    copy: Path, root: Path, destination: Path, modules: Iterable[ArchivedModule], python: Path
) -> None:
    """Write the archive of the slim environment `copy` of `root`, which will be `destination`.

    `python` can start by an archive. Nothing in folders of modules may change later: Python would
    look into them again.
    """
    compiled = _compiled_for(python)
    assert compiled is not None, "can_start was not asked"
    packages = [*root.glob("lib/python3*/site-packages")]
    texts = [(each, Path(each.byte_code).read_bytes()[_PYC_HEADER.size :]) for each in modules]
    digest = hashlib.sha256(compiled.code)
    for _, text in texts:
        digest.update(text)
    token = digest.digest()[:_TOKEN_BYTES]
    searched = [path for path in (*compiled.search, *map(str, packages)) if Path(path).is_dir()]
    inside = dict[str, dict[str, tuple[object, ...]]]((path, {}) for path in searched)
    ends = accumulate((len(text) for _, text in texts), initial=FIRST_BYTES)
    for (module, _), place in zip(texts, pairwise(ends), strict=True):
        inside.setdefault(module.folder, {})[module.name] = (
            module.is_package, module.mtime, module.size_bytes, *place,
        )  # fmt: skip
        if module.is_package:
            inside.setdefault(f"{module.folder}/{module.name}", {})
    folders = {
        str(_moved(folder, root, destination)): (
            _moved(folder, root, copy).stat().st_mtime_ns,
            _names(Path(folder)),
            marshal.dumps(found, _MARSHAL),
        )
        for folder, found in inside.items()
    }
    without = {
        path: time
        for path, (time, names, _) in folders.items()
        if path in {str(_moved(each, root, destination)) for each in searched}
        and not any(f"\n{name}\n" in names for name in _AT_EACH_START)
    }
    _write(copy / ARCHIVE, compiled, token, without, folders, [text for _, text in texts])


def _module_of(path: str, compiled: _Compiled) -> ArchivedModule | None:
    """Return the module of a path of byte code, if Python takes that path for it."""
    match = _BYTE_CODE.fullmatch(path)
    if match is None or match["tag"] != compiled.tag:
        return None
    folder, name = match["folder"], match["stem"]
    source = Path(folder, f"{name}.py")
    try:
        with open(path, "rb") as file:
            magic, flags, mtime, size = _PYC_HEADER.unpack(file.read(_PYC_HEADER.size))
        status = source.stat()
    except (OSError, struct.error):
        return None
    is_fresh = (int(status.st_mtime) & _WHOLE, status.st_size & _WHOLE) == (mtime, size)
    is_package = name == "__init__"
    if is_package:
        folder, _, name = folder.rpartition("/")
    if (
        magic != compiled.magic
        or flags
        or not is_fresh
        or source.is_symlink()  # its target may go, and the folder shows nothing of that
        or _is_hidden(Path(folder), name, is_package)
    ):
        return None
    return ArchivedModule(folder, name, is_package, mtime, size, path)


@cache
def _compiled_for(python: Path) -> _Compiled | None:
    """Return the finder's code for an interpreter; None if it cannot start by an archive."""
    words = [str(python), "-I", "-S", "-B", "-X", "no_debug_ranges", "-c", _COMPILE]
    text = Path(finder.__file__).read_text()
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=_PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeError):
        return None
    if done.returncode:
        return None
    magic, tag, base, search, code = json.loads(done.stdout)
    return _Compiled(bytes.fromhex(magic), tag, Path(base), tuple(search), bytes.fromhex(code))


def _moved(path: str, root: Path, place: Path) -> Path:
    """Return where `path` is if the environment `root` is at `place`."""
    return place / Path(path).relative_to(root) if Path(path).is_relative_to(root) else Path(path)


def _is_hidden(folder: Path, name: str, is_package: bool) -> bool:
    """Return whether Python may take another file before the source of that name.

    A folder beside a module may become a package, and the folder above shows nothing of that.
    """
    if is_package:
        return any((folder / name).glob("__init__.*so"))
    return (folder / name).is_dir() or any(folder.glob(f"{glob.escape(name)}.*so"))


def _names(folder: Path) -> str:
    """Return a line for each name of a module that a folder of the search path may have.

    There are none for a package's own folder.
    """
    is_package = (folder / "__init__.py").exists()
    names = () if is_package else {name.partition(".")[0] for name in os.listdir(folder)}
    return "\n".join(("", *sorted(names), ""))


def _write(
    path: Path,
    compiled: _Compiled,
    token: bytes,
    without: Mapping[str, int],
    folders: Mapping[str, tuple[int, str, bytes]],
    texts: Sequence[bytes],
) -> None:
    index = marshal.dumps(dict(folders), _MARSHAL)
    places = accumulate(
        (len(token + compiled.code), len(index)), initial=FIRST_BYTES + sum(map(len, texts))
    )
    header = _HEADER.pack(compiled.magic, *places, token)
    first = header + marshal.dumps(dict(without), _MARSHAL)
    if len(first) > FIRST_BYTES:  # of long paths
        first = header + marshal.dumps({}, _MARSHAL)
    path.write_bytes(
        b"".join((first.ljust(FIRST_BYTES, b"\0"), *texts, token, compiled.code, index))
    )
