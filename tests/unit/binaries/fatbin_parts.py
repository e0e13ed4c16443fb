"""GPU code laid out byte by byte: regions, elements, and cubins of names without code."""

import struct

import lz4.block

from trimtab.binaries.gpu.architecture import parse_architecture
from trimtab.zstd import zstd

FLAGS = {"none": 0, "lz4": 0x2000, "zstd": 0x8000}
_COMPRESS = {
    "none": lambda content: content,
    "lz4": lambda content: lz4.block.compress(content, store_size=False),
    "zstd": zstd.compress,
}


def element(
    content: bytes = b"code",
    kind: int = 2,
    compression: str = "none",
    *,
    number: int = 90,
    variant: int = 0,
    options: bytes = b"",
    declared_bytes: int | None = None,
) -> bytes:
    """Write an element, by the layout that the reader is to follow."""
    stored = _COMPRESS[compression](content)
    padded = stored + bytes(-len(stored) % 8)
    compressed = compression != "none"
    size = len(content) if declared_bytes is None else declared_bytes
    return (
        struct.pack("<HHIQ", kind, 0x0101, 64 + len(options), len(padded))
        + struct.pack(
            "<IIHHI", len(stored) if compressed else 0, 64 if options else 0, 8, 1, number
        )
        + struct.pack("<IIQQ", 0, 0, 0x11 | FLAGS[compression] | variant, 0)
        + struct.pack("<Q", size if compressed else 0)
        + options
        + padded
    )


def region(*elements: bytes, size: int | None = None) -> bytes:
    body = b"".join(elements)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body) if size is None else size) + body


_FUNCTION, _OBJECT, _ENTRY = 2, 1, 0x10


def cubin(
    architecture: str,
    kernels: str = "",
    variables: str = "",
    salt: str = "",
    elf_type: int = 2,
    code_bytes: int = 16,
) -> bytes:
    """A cubin whose symbol table names these kernels and variables; `salt` makes it its own."""
    sections = ["", ".shstrtab", ".strtab", ".symtab", ".text", ".nv.global"]
    section_names, strings = b"\0", b"\0" + salt.encode() + b"\0"
    symbols = bytes(24)
    for names, kind, other, section in (
        (kernels, _FUNCTION, _ENTRY, 4),
        (variables, _OBJECT, 0, 5),
    ):
        for name in names.split():
            info = 16 | kind
            symbols += struct.pack("<IBBHQQ", len(strings), info, other, section, 0, 16)
            strings += name.encode() + b"\0"
    offsets = {}
    for name in sections[1:]:
        offsets[name] = len(section_names)
        section_names += name.encode() + b"\0"
    contents = {".shstrtab": section_names, ".strtab": strings, ".symtab": symbols}
    body, headers = b"", bytes(64)
    for name in sections[1:]:
        content = contents.get(name, bytes(code_bytes if name == ".text" else 16))
        kind = {".shstrtab": 3, ".strtab": 3, ".symtab": 2}.get(name, 1)
        link = 2 if name == ".symtab" else 0
        at = 64 + len(body)
        row = (offsets[name], kind, 0, 0, at, len(content), link, 0, 1, 0)
        headers += struct.pack("<IIQQQQIIQQ", *row)
        body += content + bytes(-len(content) % 8)
    number = parse_architecture(architecture).number
    ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
    fields = (elf_type, 190, 1, 0, 0, 64 + len(body), number << 8, 64, 56, 0, 64, len(sections), 1)
    return ident + struct.pack("<HHIQQQIHHHHHH", *fields) + body + headers
