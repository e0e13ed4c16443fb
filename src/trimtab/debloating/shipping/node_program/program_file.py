"""The file of a static program: `trimtab-static-program`, and the parts that it executes.

native/static_program/main.c reads it: the program, each part as an LZ4 block, a table of the parts,
and a trailer with the SHA-256 of all before. Numbers are little-endian.
"""

import hashlib
import io
import marshal
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

import lz4.block

from trimtab.binaries.elf.headers import HEADER
from trimtab.binaries.elf.reader import Elf
from trimtab.debloating.shipping.node_program.python_needs import PythonNeeds
from trimtab.errors import TrimtabError
from trimtab.files import atomic_write
from trimtab.native import native_path

_PART = struct.Struct("<56sQQQQ")
_PLACE = struct.Struct("<QQ")
_MAGIC = b"trimtab program\0"
_LEVEL = 9  # of LZ4; higher ones save 0.4 % and take four times as long
_UNCHECKED = (1).to_bytes(4, "little")  # of PEP 552: byte code without its source
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_SHOFF, _SHNUM, _SHSTRNDX = 6, 12, 13  # the fields of Elf64_Ehdr about sections


class _Kind(IntEnum):
    """What becomes of a part: `enum kind` of main.c."""

    LOADER = 0
    PROGRAM = 1
    LIBRARY = 2
    MODULE = 3
    ARCHIVE = 4


@dataclass(frozen=True)
class _Part:
    kind: _Kind
    name: str
    content: bytes


def write_program(needs: PythonNeeds, path: Path) -> None:
    """Write a program to `path` that runs the modules of `needs` on a machine without any file.

    Raises OSError, and TrimtabError for a name or a module that it cannot hold.
    """
    data = bytearray(native_path("trimtab-static-program").read_bytes())
    table = bytearray()
    for part in _parts(needs):
        name, content = part.name.encode(), part.content
        if len(name) >= _PART.size - 4 * 8:
            raise TrimtabError(f"{part.name}: the name is too long for a static program")
        packed = lz4.block.compress(
            content, mode="high_compression", compression=_LEVEL, store_size=False
        )
        table += _PART.pack(name, part.kind, len(data), len(packed), len(content))
        data += packed
    data += bytes(-len(data) % 8)
    place = _PLACE.pack(len(data), len(table) // _PART.size)
    data += table + place
    data += hashlib.sha256(data).digest() + _MAGIC
    with atomic_write(path, 0o755) as temporary:
        temporary.write_bytes(data)


def _parts(needs: PythonNeeds) -> Iterator[_Part]:
    yield _Part(_Kind.LOADER, "ld.so", _loaded_bytes(needs.loader))
    yield _Part(_Kind.PROGRAM, "python", _loaded_bytes(needs.program))
    for library in needs.libraries:
        yield _Part(_Kind.LIBRARY, library.soname or library.path.name, _loaded_bytes(library))
    for name, module in sorted(needs.compiled.items()):
        yield _Part(_Kind.MODULE, name, _loaded_bytes(module))
    yield _Part(_Kind.ARCHIVE, "modules", _archive(needs.sources))


def _loaded_bytes(elf: Elf) -> bytes:
    """Return a library without what is not loaded: its section headers and debugging tables."""
    with elf.staying_whole():
        data = bytearray(elf.data[: max(segment.end for segment in elf.segments)].tobytes())
    fields = list(HEADER.unpack_from(data))
    fields[_SHOFF] = fields[_SHNUM] = fields[_SHSTRNDX] = 0
    HEADER.pack_into(data, 0, *fields)
    return bytes(data)


def _archive(sources: Mapping[str, Path]) -> bytes:
    """Return the modules as byte code in a zip file, which Python imports from."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:  # not compressed: that would need zlib to start
        for name, path in sorted(sources.items()):
            inside = name.replace(".", "/") + ("/__init__" if path.stem == "__init__" else "")
            entry = zipfile.ZipInfo(f"{inside}.pyc", _FIRST_DATE)
            file.writestr(entry, _byte_code(path, f"{inside}.py"))
    return archive.getvalue()


def _byte_code(path: Path, inside: str) -> bytes:
    source = path.read_bytes()
    try:
        code = compile(source, inside, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError) as error:
        raise TrimtabError(f"{path}: {error}; install it again") from None
    return MAGIC_NUMBER + _UNCHECKED + source_hash(source) + marshal.dumps(code)
