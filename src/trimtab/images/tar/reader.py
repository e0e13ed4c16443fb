"""The members of a tar archive: ustar, PAX, GNU and older formats.

Where programs differ, we follow the container engines, which are written in Go. A GNU long name has
priority over a PAX path, PAX records for all members are ignored, and only two blocks of zeros end
an archive. Unlike in Python's tarfile, damage anywhere is an error.
"""

from collections.abc import Iterator
from typing import NamedTuple

from trimtab.images.errors import DamagedError
from trimtab.images.node import FileType, Folder, Inode
from trimtab.images.tar import pax, sparse
from trimtab.images.tar.header import BLOCK_BYTES, NO_BLOCK, TarHeader, parse_header, text
from trimtab.images.tar.names import MOST_PATH_BYTES, clean_name, decoded, shown
from trimtab.images.tar.stream import ByteStream

MOST_EXTENDED_BYTES = 1 << 20  # of one member; also the limit of engines
_LARGEST_ID = (1 << 32) - 2
_MOST_SECONDS = 1 << 40
_MOST_XATTR_NAME = 255
_LARGEST_SIZE = (1 << 63) - 1
_PAX, _PAX_FOR_ALL, _LONG_NAME, _LONG_TARGET = b"x", b"g", b"L", b"K"
_SOLARIS_PAX, _VOLUME = b"X", b"V"
_HARD_LINK, _SPARSE, _OLD_FILE = b"1", b"S", b"\0"
_KINDS = {
    b"0": FileType.FILE,
    _OLD_FILE: FileType.FILE,
    b"7": FileType.FILE,
    _SPARSE: FileType.FILE,
    b"2": FileType.LINK,
    b"3": FileType.CHARACTER_DEVICE,
    b"4": FileType.BLOCK_DEVICE,
    b"5": FileType.FOLDER,
    b"6": FileType.PIPE,
}

_Records = list[tuple[str, bytes]]


class TarMember(NamedTuple):
    """A name in an archive with its node, or with the name that it is a hard link to.

    Names are relative, without `.`, `..` and empty parts; the top folder's name is "".
    """

    name: str
    node: Inode | None
    hard_link: str


def read_members(stream: ByteStream, layer: int = 0) -> Iterator[TarMember]:
    """Yield the members of the archive; `layer` is the number for their nodes.

    A file's content is at its node's offset. Raises DamagedError for a damaged or truncated
    archive, or members that engines refuse.
    """
    while (found := _next_header(stream)) is not None:
        header, records, name, target = found
        if header.type == _HARD_LINK:
            yield TarMember(clean_name(name), None, clean_name(target))
            continue
        values = dict(records)
        kind = _kind(header.type, name)
        if kind is FileType.FILE:
            node = _file(header, stream, records, values)
        else:
            node = (
                Folder(kind, header.mode) if kind is FileType.FOLDER else Inode(kind, header.mode)
            )
            node.target = _link_text(target) if kind is FileType.LINK else ""
            node.device = header.device
        _describe(node, header, records, values)
        node.layer, node.offset = layer, stream.position
        yield TarMember(clean_name(name), node, "")
        stored_bytes = node.stored_bytes
        stream.skip(stored_bytes + -stored_bytes % BLOCK_BYTES)


def _next_header(stream: ByteStream) -> tuple[TarHeader, _Records, bytes, bytes] | None:
    """Read the next header with its extensions, or None at the end of the archive.

    Also returns its PAX records, and the resulting name and target of the member.
    """
    records: _Records = []
    long_name = long_target = b""
    extended_bytes = 0
    while (block := _next_block(stream)) is not None:
        header = parse_header(block)
        if header.type in (_PAX, _SOLARIS_PAX):
            records = pax.parse_records(_extension(stream, header))
        elif header.type == _LONG_NAME:
            long_name = text(_extension(stream, header))
        elif header.type == _LONG_TARGET:
            long_target = text(_extension(stream, header))
        elif header.type in (_PAX_FOR_ALL, _VOLUME):
            _extension(stream, header)
            continue
        else:
            values = dict(records)
            name = long_name or values.get("GNU.sparse.name") or values.get("path") or header.name
            return header, records, name, long_target or values.get("linkpath") or header.target
        extended_bytes += header.size_bytes
        if extended_bytes > MOST_EXTENDED_BYTES:
            raise _too_long()
    if extended_bytes:
        raise DamagedError(f"cut off at byte {stream.position}, behind an extended header")
    return None


def _next_block(stream: ByteStream) -> bytes | None:
    """Read the next block; None at the end, also after two blocks of zeros."""
    block = stream.take(BLOCK_BYTES)
    if block == NO_BLOCK:
        if not NO_BLOCK.startswith(stream.take(BLOCK_BYTES)):
            raise DamagedError(f"at byte {stream.position} a member follows a block of zeros")
        return None
    if block and len(block) < BLOCK_BYTES:
        raise DamagedError(f"cut off at byte {stream.position}, within a header")
    return block or None


def _extension(stream: ByteStream, header: TarHeader) -> bytes:
    if not 0 <= header.size_bytes <= MOST_EXTENDED_BYTES:
        raise _too_long()
    data = stream.take_all(header.size_bytes)
    stream.take(-len(data) % BLOCK_BYTES)
    return data


def _kind(type_flag: bytes, name: bytes) -> FileType:
    if type_flag == _OLD_FILE and name.endswith(b"/"):
        return FileType.FOLDER  # older than the type for folders
    if type_flag not in _KINDS:
        raise DamagedError(f"{shown(name)} is a member of type {type_flag!r}, which engines refuse")
    return _KINDS[type_flag]


def _file(
    header: TarHeader, stream: ByteStream, records: _Records, values: dict[str, bytes]
) -> Inode:
    size_bytes = header.size_bytes
    if "size" in values:
        size_bytes = pax.parse_number("size", values["size"])
    node = Inode(FileType.FILE, header.mode, size_bytes=_size(size_bytes))
    if header.type == _SPARSE:
        real_bytes, segments = sparse.old_map(header.block, stream)
    elif values.get("GNU.sparse.major") == b"1":
        real_bytes = pax.parse_number("GNU.sparse.realsize", values.get("GNU.sparse.realsize", b""))
        map_bytes, segments = sparse.map_before_content(stream)
        size_bytes -= map_bytes
    elif "GNU.sparse.size" in values:
        real_bytes = pax.parse_number("GNU.sparse.size", values["GNU.sparse.size"])
        segments = sparse.map_of_records(records)
    else:
        return node
    node.size_bytes = _size(real_bytes)
    node.segments = sparse.checked(segments, real_bytes, size_bytes)
    return node


def _size(size_bytes: int) -> int:
    if not 0 <= size_bytes <= _LARGEST_SIZE:
        raise DamagedError(f"a file of {size_bytes} bytes cannot be")
    return size_bytes


def _describe(node: Inode, header: TarHeader, records: _Records, values: dict[str, bytes]) -> None:
    node.uid, node.gid, node.mtime_ns = header.uid, header.gid, header.mtime_s * 10**9
    if values:
        if "uid" in values:
            node.uid = pax.parse_number("uid", values["uid"])
        if "gid" in values:
            node.gid = pax.parse_number("gid", values["gid"])
        if "mtime" in values:
            node.mtime_ns = pax.parse_time_ns(values["mtime"])
        node.xattrs = _xattrs(records)
    if not (0 <= node.uid <= _LARGEST_ID and 0 <= node.gid <= _LARGEST_ID):
        raise DamagedError(f"a member has the owner {node.uid}:{node.gid}, which cannot be")
    if abs(node.mtime_ns) > _MOST_SECONDS * 10**9:
        raise DamagedError("a member has a time that cannot be")


def _xattrs(records: _Records) -> tuple[tuple[str, bytes], ...]:
    xattrs = {}
    for key, value in records:
        if key.startswith(pax.XATTR):
            name = key.removeprefix(pax.XATTR)
            if not 0 < len(name) <= _MOST_XATTR_NAME or "\0" in name:
                raise DamagedError(f"a member has an attribute of the name {shown(name)}")
            xattrs[name] = value
    return tuple(sorted(xattrs.items()))


def _link_text(target: bytes) -> str:
    if not target or len(target) > MOST_PATH_BYTES or b"\0" in target:
        raise DamagedError(f"a symbolic link leads to {shown(target)}, which is no path")
    return decoded(target)


def _too_long() -> DamagedError:
    return DamagedError(f"a member's extended headers have more than {MOST_EXTENDED_BYTES:,} bytes")
