"""Write the header of a member: ustar if it suffices, otherwise with PAX records.

The same node gives the same bytes. Owner names, access times and change times are left out: engines
use numbers, and these times do not belong to the image.
"""

from trimtab.images.errors import DamagedError
from trimtab.images.node import FileType, Inode
from trimtab.images.tar import pax, sparse
from trimtab.images.tar.header import BLOCK_BYTES, with_checksum
from trimtab.images.tar.names import encoded

END_OF_ARCHIVE = bytes(2 * BLOCK_BYTES)
HARD_LINK = b"1"
_TYPES = {
    FileType.FILE: b"0",
    FileType.LINK: b"2",
    FileType.CHARACTER_DEVICE: b"3",
    FileType.BLOCK_DEVICE: b"4",
    FileType.FOLDER: b"5",
    FileType.PIPE: b"6",
}
_NAME_BYTES, _PREFIX_BYTES = 100, 155
_MOST_OF_7_DIGITS, _MOST_OF_11_DIGITS = 8**7 - 1, 8**11 - 1
_NS = 10**9


def member_header(name: str, node: Inode, hard_link: str = "") -> bytes:
    """Return the bytes before a member's content, in whole blocks.

    `name` is relative, "" for the top folder. With `hard_link` the member is a hard link to the
    member of that name. The node's stored bytes have to follow, padded with zeros to whole blocks
    (`padding`). Raises DamagedError for a node that no archive can hold.
    """
    path = encoded(name)
    if node.kind is FileType.FOLDER:
        path = path + b"/" if path else b"./"
    target = encoded(hard_link or node.target)
    type_flag = HARD_LINK if hard_link else _TYPES[node.kind]
    size_bytes = node.stored_bytes if type_flag == b"0" else 0
    records: dict[str, bytes] = {}
    content_map = b""
    if type_flag == b"0" and node.segments is not None:
        content_map = sparse.format_map(node.segments, node.size_bytes)
        size_bytes += len(content_map)
        records["GNU.sparse.major"], records["GNU.sparse.minor"] = b"1", b"0"
        records["GNU.sparse.name"] = path
        records["GNU.sparse.realsize"] = b"%d" % node.size_bytes
    if not hard_link:
        for key, value in node.xattrs:
            records[pax.XATTR + key] = value
    block = _block(path, target, type_flag, size_bytes, node, records)
    if not records:
        return block + content_map
    data = b"".join(pax.format_record(key, records[key]) for key in sorted(records))
    extension = Inode(FileType.FILE, 0o644)
    front = _block(b"PaxHeaders/" + path[:80], b"", b"x", len(data), extension, {})
    return front + data + padding(len(data)) + block + content_map


def plain_header(name: str, size_bytes: int) -> bytes:
    """Return the header block of a file of ours, of any size."""
    if size_bytes <= _MOST_OF_11_DIGITS:
        node = Inode(FileType.FILE, 0o644, size_bytes=size_bytes)
        return _block(encoded(name), b"", b"0", size_bytes, node, {})
    block = plain_header(name, 0)  # GNU tar's notation for numbers that do not fit in octal
    number = (0x80 << 88 | size_bytes).to_bytes(12, "big")
    return with_checksum(block[:124] + number + block[136:])


def padding(size_bytes: int) -> bytes:
    """Return the zeros after a content of this size."""
    return bytes(-size_bytes % BLOCK_BYTES)


def _block(
    path: bytes, target: bytes, type_flag: bytes, size_bytes: int, node: Inode,
    records: dict[str, bytes],
) -> bytes:  # fmt: skip
    """Return a header's block; values that do not fit are added to `records`."""
    split = _split(path)
    if split is None:
        records["path"] = path
        split = b"", path[:_NAME_BYTES]
    prefix, short_name = split
    if len(target) > _NAME_BYTES or not target.isascii():
        records["linkpath"] = target
    major, minor = node.device
    if max(major, minor) > _MOST_OF_7_DIGITS:
        raise DamagedError(f"a device has the number {major}:{minor}, which cannot be")
    fields = (
        short_name.ljust(_NAME_BYTES, b"\0"),
        _octal(node.mode, 7),
        _octal(_or_record(node.uid, "uid", _MOST_OF_7_DIGITS, records), 7),
        _octal(_or_record(node.gid, "gid", _MOST_OF_7_DIGITS, records), 7),
        _octal(_or_record(size_bytes, "size", _MOST_OF_11_DIGITS, records), 11),
        _octal(_seconds(node.mtime_ns, records), 11),
        bytes(8),
        type_flag,
        target[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0"),
        b"ustar\x0000",
        bytes(64),
        _octal(major, 7),
        _octal(minor, 7),
        prefix.ljust(_PREFIX_BYTES, b"\0"),
        bytes(12),
    )
    return with_checksum(b"".join(fields))


def _split(path: bytes) -> tuple[bytes, bytes] | None:
    """Return a path as prefix and name, if it fits; PAX has non-ASCII paths."""
    if not path.isascii():
        return None
    if len(path) <= _NAME_BYTES:
        return b"", path
    slash = path.find(b"/", len(path) - _NAME_BYTES - 1, len(path) - 1)
    if not 0 < slash <= _PREFIX_BYTES:
        return None
    return path[:slash], path[slash + 1 :]


def _seconds(mtime_ns: int, records: dict[str, bytes]) -> int:
    seconds, ns = divmod(mtime_ns, _NS)
    if ns or not 0 <= seconds <= _MOST_OF_11_DIGITS:
        records["mtime"] = pax.format_time_ns(mtime_ns)
    return min(max(seconds, 0), _MOST_OF_11_DIGITS)


def _or_record(number: int, key: str, most: int, records: dict[str, bytes]) -> int:
    if number > most:
        records[key] = b"%d" % number
        return 0
    return number


def _octal(number: int, digits: int) -> bytes:
    return b"%0*o\0" % (digits, number)
