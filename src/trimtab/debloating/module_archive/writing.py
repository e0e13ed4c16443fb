"""Write the archive of byte code of a slim Python environment.

The archive begins with the interpreter's magic number of 4 bytes, two numbers of 8 bytes, little
endian, and a token of 8 bytes. The numbers are where the index begins and ends. The finder's code
follows, and zeros up to 16 KiB, then the index and blocks of byte code. Before the index and each
block stands the token, so that a running program does not take another archive for its own.

`marshal` writes the code and the index. The index is a pair: the folders of modules, and where each
block begins and ends. A folder has its time in ns, the names of modules that it may have (none for
a package's own folder), and its modules, again written by `marshal`. A module has whether it is a
package, the time and size of its source, and its block with the first byte and the end there.
"""

import glob
import hashlib
import marshal
import os
import re
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from textwrap import indent

from trimtab.debloating.fallback import ARCHIVE
from trimtab.debloating.module_archive import finder
from trimtab.records.usage import Usage

_BYTE_CODE = re.compile(r"(?P<folder>.*)/__pycache__/(?P<stem>[^/]+)\.(?P<tag>[\w-]+)\.pyc")
_PATIENCE_S = 60.0
_BLOCK_BYTES = 1 << 17
FIRST_BYTES = 1 << 14  # the header and the finder's code are in these
_TOKEN_BYTES = 8
_HEADER = struct.Struct(f"<4sQQ{_TOKEN_BYTES}s")
_PYC_HEADER = struct.Struct("<4s3I")  # magic number, flags, the source's time and size (PEP 552)
_MARSHAL = 4  # the format that all supported interpreters read
_WHOLE = 0xFFFFFFFF
_COMPILE = """
import _frozen_importlib_external as e, marshal, sys
assert sys.version_info >= (3, 8)
text = sys.stdin.buffer.read()
code = compile(text, "<trimtab modules>", "exec", dont_inherit=True, optimize=2)
sys.stdout.buffer.write(e.MAGIC_NUMBER + sys.implementation.cache_tag.encode() + b"\\0")
sys.stdout.buffer.write(sys.base_prefix.encode("utf-8", "surrogateescape") + b"\\0")
sys.stdout.buffer.write(marshal.dumps(code))
"""


def hook(without: str) -> str:
    """Return the line of a .pth file in `site-packages` by which Python starts with the archive.

    If that is gone, cut off or of another Python, Python runs `without`. The line is short, as
    Python compiles it at each start; `site` may run it twice, as lib64 leads to lib.
    """
    return (
        "import posix, marshal, _frozen_importlib_external as x; n = 'trimtab_modules';"
        f" n in x.sys.modules or (p := sitedir + '/../../../{ARCHIVE}',"
        f" d := posix.open(p, {os.O_RDONLY | os.O_CLOEXEC}) if posix.access(p, {os.R_OK}) else -1,"
        f" h := posix.read(d, {FIRST_BYTES}) if d >= 0 else b'', d < 0 or posix.close(d),"
        f" (m := type(posix)(n), exec(marshal.loads(h[{_HEADER.size}:]), m.__dict__),"
        f" m.start(m, sitedir, p, h[4:{_HEADER.size}]))"
        f" if h[:4] == x.MAGIC_NUMBER and len(h) >= {FIRST_BYTES} else exec({without!r}))\n"
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
    """The finder's code for an interpreter with this magic number, cache tag and base prefix."""

    magic: bytes
    tag: str
    base: Path
    code: bytes


@dataclass
class _Blocks:
    """The byte code of modules, one after the other, in blocks that begin with `token`."""

    token: bytes
    done: list[bytes] = field(default_factory=list)
    open: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.open = bytearray(self.token)

    def add(self, code: bytes) -> tuple[int, int, int]:
        """Add byte code; return its block, and where it begins and ends there."""
        if len(self.open) >= _BLOCK_BYTES:
            self.done.append(bytes(self.open))
            self.open = bytearray(self.token)
        start = len(self.open)
        self.open += code
        return len(self.done), start, len(self.open)

    def whole(self) -> list[bytes]:
        """Return all blocks."""
        return [*self.done, bytes(self.open)]


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
    compiled = _finder_for(python)
    if compiled is None:
        return []
    places = (root, compiled.base)
    inside = [path for path in byte_code if any(map(Path(path).is_relative_to, places))]
    modules = (_module_of(path, compiled) for path in inside)
    return [module for module in modules if module is not None]


def can_start(python: Path) -> bool:
    """Return whether the interpreter `python` can start by an archive."""
    return _finder_for(python) is not None


def write_archive(
    copy: Path,
    root: Path,
    destination: Path,
    modules: Iterable[ArchivedModule],
    python: Path,
    lines: str,
) -> None:
    """Write the archive of the slim environment `copy` of `root`, which will be `destination`.

    A start of `python`, which can, first runs `lines`, those of a .pth file without an archive.
    Nothing in folders of modules may change later: Python would look into them again.
    """
    compiled = _finder_for(python, lines)
    assert compiled is not None, "can_start was not asked"
    texts = [(each, Path(each.byte_code).read_bytes()[_PYC_HEADER.size :]) for each in modules]
    digest = hashlib.sha256(compiled.code)
    for _, text in texts:
        digest.update(text)
    token = digest.digest()[:_TOKEN_BYTES]
    blocks, inside = _Blocks(token), dict[str, dict[str, tuple[object, ...]]]()
    for module, text in texts:
        place = (module.is_package, module.mtime, module.size_bytes, *blocks.add(text))
        inside.setdefault(module.folder, {})[module.name] = place
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
    _write(copy / ARCHIVE, compiled, token, folders, blocks.whole())


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
def _finder_for(python: Path, lines: str = "") -> _Compiled | None:
    """Return the finder's code for an interpreter; None if it compiles nothing."""
    words = [str(python), "-I", "-S", "-B", "-c", _COMPILE]
    body = indent(f"{lines}pass\n", "    ")
    text = f"{Path(finder.__file__).read_text()}\ndef load_fallbacks(sitedir):\n{body}"
    try:
        done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    tag, _, rest = done.stdout[4:].partition(b"\0")
    base, end, code = rest.partition(b"\0")
    if done.returncode or not end or len(code) > FIRST_BYTES - _HEADER.size:
        return None
    return _Compiled(done.stdout[:4], tag.decode(), Path(os.fsdecode(base)), code)


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
    folders: Mapping[str, tuple[int, str, bytes]],
    blocks: Sequence[bytes],
) -> None:
    start = FIRST_BYTES
    index, behind = b"", start if not folders else 0
    while behind != start + len(index):  # the index has the places of blocks, which lie behind it
        behind = start + len(index)
        ends = accumulate(map(len, blocks), initial=behind)
        index = token + marshal.dumps((dict(folders), list(pairwise(ends))), _MARSHAL)
    header = _HEADER.pack(compiled.magic, start, start + len(index), token)
    first = (header + compiled.code).ljust(FIRST_BYTES, b"\0")
    path.write_bytes(b"".join((first, index, *blocks)))
