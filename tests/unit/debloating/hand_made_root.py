"""Small roots of file systems, made by hand in memory: a text, bytes, a link or a folder a path."""

import io
import struct
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import PurePosixPath

from trimtab.debloating.files.tree import FileTree
from trimtab.images.node import FileType, Inode
from trimtab.profiling.tracing.files import FileUse

FOLDER = None


@dataclass(frozen=True)
class Link:
    target: str


@dataclass(frozen=True)
class Program:
    """A file that may be executed."""

    content: bytes


Content = str | bytes | Link | Program | None


def root_of(contents: Mapping[str, Content], *tops: str) -> FileTree:
    """The tree that has these paths, and the folders above them."""
    nodes = {"/": Inode(FileType.FOLDER, mode=0o755)}
    data: dict[str, bytes] = {}
    for path, content in contents.items():
        for parent in PurePosixPath(path).parents:
            nodes.setdefault(str(parent), Inode(FileType.FOLDER, mode=0o755))
        if content is None:
            nodes[path] = Inode(FileType.FOLDER, mode=0o755)
        elif isinstance(content, Link):
            nodes[path] = Inode(FileType.LINK, mode=0o777, target=content.target)
        else:
            raw = content.content if isinstance(content, Program) else content
            data[path] = raw.encode() if isinstance(raw, str) else raw
            mode = 0o755 if isinstance(content, Program) else 0o644
            nodes[path] = Inode(FileType.FILE, mode, size_bytes=len(data[path]))
    return FileTree(nodes, lambda path: nullcontext(io.BytesIO(data[path])), tops or ("",))


def used(*paths: str, uses: str = "read") -> list[FileUse]:
    """A trace of paths that were all used in the same ways."""
    return [FileUse(path, path, frozenset(uses.split())) for path in paths]


def missing(*paths: str) -> list[FileUse]:
    return [FileUse(path, None, frozenset({"missing"})) for path in paths]


def elf(
    *needed: str,
    interpreter: str = "",
    rpath: str = "",
    runpath: str = "",
    machine: int = 62,
    wide: bool = True,
    order: str = "<",
    of_go: bool = False,
) -> bytes:
    """An ELF file that asks for these libraries, of one segment that maps all of it."""
    strings = b"\0"
    entries = []
    for tag, name in [*((1, name) for name in needed), (15, rpath), (29, runpath)]:
        if name:
            entries.append((tag, len(strings)))
            strings += name.encode() + b"\0"
    header = struct.Struct(order + ("HHIQQQIHHH" if wide else "HHIIIIIHHH"))
    row = struct.Struct(order + ("IIQQQQQQ" if wide else "IIIIIIII"))
    pair = struct.Struct(order + ("qQ" if wide else "iI"))
    table = 16 + header.size
    rows = 3 + of_go
    names = table + rows * row.size
    asked = names + len(strings)
    dynamic = asked + len(interpreter) + 1
    base = 0x10000
    pairs = b"".join(pair.pack(*each) for each in [*entries, (5, base + names), (0, 0)])
    note = struct.pack(order + "III4s8s", 4, 8, 4, b"Go", b"") if of_go else b""
    noted = dynamic + len(pairs)
    end = noted + len(note)

    def segment(kind: int, offset: int, size: int) -> bytes:
        fields = (offset, base + offset, base + offset, size, size)
        return row.pack(kind, 4, *fields, 1) if wide else row.pack(kind, *fields, 4, 1)

    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    kind = 3
    start = header.pack(kind, machine, 1, 0, table, 0, 0, table, row.size, rows)
    third = segment(3, asked, len(interpreter) + 1) if interpreter else segment(0, 0, 0)
    return b"".join(
        (
            ident, start, segment(1, 0, end), segment(2, dynamic, len(pairs)), third,
            segment(4, noted, len(note)) if of_go else b"",
            strings, interpreter.encode() + b"\0", pairs, note,
        )
    )  # fmt: skip
