"""The cold index: where the bytes of removed files are in a registry's layers.

`TRIMTABI`, version (u32), bytes of the table (u32), the table (gzip of JSON), and the windows. A
window is what inflating needs to begin at a checkpoint: up to 32 KiB of earlier text, deflated.
Numbers are little-endian. Version 2 is version 1 with layers of zstd. An index without such layers
has version 1, so that nodes of earlier versions read it.

The table has `original` (manifest digest), `trimtab` (version), `layers` and `files`. A layer has
`digest`, `bytes`, `uncompressed_bytes`, `compression` and `checkpoints`; a checkpoint is the list
of the fields of Checkpoint, for zstd of its first two. `files` gives, by a file's SHA-256, a list
of layer, offset and bytes, and for a file of several objects the SHA-256 of each
(`trimtab.debloating.store`).

This package imports nothing of trimtab's outside of itself: a node runs it alone.
"""

import gzip
import json
import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

OBJECT_BYTES = 1 << 20
MOST_INDEX_BYTES = 64 << 20
MOST_SKIPPED_BYTES = 64 << 20  # of text from a checkpoint to what is wanted
MOST_OVERHEAD_BYTES = 16 << 20  # of a layer beyond twice its text: blocks and frames without any
MAGIC, VERSION = b"TRIMTABI", 2
_VERSION_WITHOUT_ZSTD = 1
HEAD = struct.Struct("<8sII")
_MOST_TABLE_BYTES = 32 << 20
_MOST_VALUES, _MOST_NESTED = 1 << 21, 1 << 19  # each takes memory, however short it is written
_MOST_LAYERS = 1 << 10
_WINDOW_BYTES = 1 << 15
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_OBJECT = re.compile(r"([0-9a-f]{32})-([0-9]{6,12})")
_COMPRESSIONS = ("gzip", "none"), ("gzip", "none", "zstd")  # of each version


class DamagedIndexError(ValueError):
    """Data that is no cold index; the message says what is wrong."""


@dataclass(frozen=True)
class Checkpoint:
    """A place where decompression can begin: within gzip (zlib's examples/zran.c), or a frame.

    The top `bits` bits of the byte before `compressed_offset` come first. The window is at
    `window_offset` among the windows; 0 `window_bytes` at the start of a stream. Frames of zstd
    have neither.
    """

    uncompressed_offset: int
    compressed_offset: int
    bits: int = 0
    window_offset: int = 0
    window_bytes: int = 0


@dataclass(frozen=True)
class ColdLayer:
    """A blob of the registry that holds removed files; uncompressed, it has no checkpoints."""

    digest: str
    size_bytes: int
    uncompressed_bytes: int
    compression: str
    checkpoints: tuple[Checkpoint, ...] = ()

    def checkpoint_before(self, offset: int) -> Checkpoint:
        """Return the last checkpoint at or before an uncompressed `offset`."""
        at = bisect_right(self._offsets, offset) - 1
        if at < 0:
            raise DamagedIndexError(f"{self.digest}: no checkpoint before {offset}")
        return self.checkpoints[at]

    def compressed_end(self, end: int) -> int:
        """Return a compressed offset by which the text up to `end` is complete."""
        at = bisect_right(self._offsets, end - 1)
        return (
            self.checkpoints[at].compressed_offset if at < len(self._offsets) else self.size_bytes
        )

    @cached_property
    def _offsets(self) -> list[int]:
        return [each.uncompressed_offset for each in self.checkpoints]


@dataclass(frozen=True)
class ColdFile:
    """A removed file: its place in the uncompressed layer number `layer`.

    `objects` has the SHA-256 of each of its objects of OBJECT_BYTES; the last one is shorter.
    """

    layer: int
    offset: int
    size_bytes: int
    objects: tuple[str, ...]


@dataclass(frozen=True)
class ColdObject:
    """An object of a file: `size_bytes` at `offset` of a layer's text, with this SHA-256."""

    layer: ColdLayer
    offset: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class ColdIndex:
    """A cold index; `files` by the SHA-256 of their contents."""

    original: str
    version: str
    layers: tuple[ColdLayer, ...]
    files: Mapping[str, ColdFile]
    windows: bytes = field(repr=False, default=b"")

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Return the index in `data`. Raises DamagedIndexError for any other data."""
        try:
            return cls._parsed(data)
        except (KeyError, TypeError, ValueError, AttributeError, struct.error, EOFError, zlib.error,
                OSError, RecursionError) as error:  # fmt: skip
            if isinstance(error, DamagedIndexError):
                raise
            raise DamagedIndexError(f"no cold index: {error}") from None

    @classmethod
    def _parsed(cls, data: bytes) -> Self:
        magic, version, table_bytes = HEAD.unpack_from(data)
        end = HEAD.size + table_bytes
        if magic != MAGIC:
            raise DamagedIndexError("no cold index: it begins with other bytes")
        if not 1 <= version <= VERSION:
            raise DamagedIndexError(
                f"a cold index of version {version}; expected 1 to {VERSION}: a newer trimtab made"
                " it, so run a newer cold store"
            )
        if end > len(data):
            raise DamagedIndexError("no cold index: it is cut off")
        table = json.loads(_unpacked(data[HEAD.size : end]))
        windows = data[end:]
        if len(table["layers"]) > _MOST_LAYERS:
            raise DamagedIndexError("too many layers")
        known = _COMPRESSIONS[version - 1]
        layers = tuple(_layer(each, len(windows), known) for each in table["layers"])
        files = {sha256: _file(sha256, each, layers) for sha256, each in table["files"].items()}
        return cls(str(table["original"]), str(table["trimtab"]), layers, files, windows)

    def to_bytes(self) -> bytes:
        """Return the index as it is stored; the same index gives the same bytes."""
        table = {
            "original": self.original,
            "trimtab": self.version,
            "layers": [
                {
                    "digest": layer.digest,
                    "bytes": layer.size_bytes,
                    "uncompressed_bytes": layer.uncompressed_bytes,
                    "compression": layer.compression,
                    "checkpoints": [
                        list(vars(each).values())[: _fields_of(layer.compression)]
                        for each in layer.checkpoints
                    ],
                }
                for layer in self.layers
            ],
            "files": {
                sha256: [
                    file.layer,
                    file.offset,
                    file.size_bytes,
                    *([list(file.objects)] if len(file.objects) > 1 else []),
                ]
                for sha256, file in sorted(self.files.items())
            },
        }
        packed = gzip.compress(json.dumps(table, separators=(",", ":")).encode(), mtime=0)
        has_zstd = any(layer.compression == "zstd" for layer in self.layers)
        version = VERSION if has_zstd else _VERSION_WITHOUT_ZSTD
        return b"".join((HEAD.pack(MAGIC, version, len(packed)), packed, self.windows))

    def find(self, name: str) -> ColdObject | None:
        """Return the object of this name in a store, or None if the index has none."""
        match = _OBJECT.fullmatch(name)
        file = self._by_name.get(match[1]) if match else None
        number = int(match[2]) if match else 0
        if file is None or number >= len(file.objects):
            return None
        start = number * OBJECT_BYTES
        size_bytes = min(OBJECT_BYTES, file.size_bytes - start)
        return ColdObject(
            self.layers[file.layer], file.offset + start, size_bytes, file.objects[number]
        )

    @cached_property
    def memory_bytes(self) -> int:
        """About how much memory it takes, which is much more than as it is stored."""
        entries = len(self.files) + sum(len(layer.checkpoints) for layer in self.layers)
        objects = sum(len(file.objects) for file in self.files.values())
        return len(self.windows) + 400 * entries + 130 * objects

    def window(self, checkpoint: Checkpoint) -> bytes:
        """Return the text before a checkpoint. Raises DamagedIndexError for a damaged one."""
        if not checkpoint.window_bytes:
            return b""
        begin = checkpoint.window_offset
        packed = self.windows[begin : begin + checkpoint.window_bytes]
        try:
            text = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, _WINDOW_BYTES)
        except zlib.error as error:
            raise DamagedIndexError(f"a window: {error}") from None
        if not text:
            raise DamagedIndexError("an empty window")
        return text

    @cached_property
    def _by_name(self) -> dict[str, ColdFile]:
        return {sha256[:32]: file for sha256, file in self.files.items()}


def _unpacked(packed: bytes) -> bytes:
    stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
    text = stream.decompress(packed, _MOST_TABLE_BYTES)
    if not stream.eof or stream.unused_data:
        raise DamagedIndexError(f"its table is cut off, or longer than {_MOST_TABLE_BYTES} bytes")
    if text.count(b",") > _MOST_VALUES or text.count(b"[") + text.count(b"{") > _MOST_NESTED:
        raise DamagedIndexError("its table has too many values")
    return text


def _layer(table: Mapping[str, Any], windows_bytes: int, known: Sequence[str]) -> ColdLayer:
    digest = _matching(_DIGEST, table["digest"])
    size_bytes, text_bytes = _number(table["bytes"]), _number(table["uncompressed_bytes"])
    compression = table["compression"]
    if compression not in known:
        raise DamagedIndexError(f"{digest}: unknown compression {str(compression)[:80]!r}")
    if any(len(each) != _fields_of(compression) for each in table["checkpoints"]):
        raise DamagedIndexError(f"{digest}: a checkpoint without {_fields_of(compression)} numbers")
    checkpoints = tuple(Checkpoint(*map(_number, each)) for each in table["checkpoints"])
    before = (-1, -1)
    for each in checkpoints:
        here = each.uncompressed_offset, 8 * each.compressed_offset - each.bits
        if not (before[0] <= here[0] <= text_bytes and before[1] < here[1]):
            raise DamagedIndexError(f"{digest}: checkpoints that do not ascend")
        if (
            each.bits > 7
            or here[1] < 0
            or each.compressed_offset > size_bytes
            or each.window_offset + each.window_bytes > windows_bytes
        ):
            raise DamagedIndexError(f"{digest}: a checkpoint outside of its layer or the windows")
        before = here
    if compression == "none" and (checkpoints or size_bytes != text_bytes):
        raise DamagedIndexError(f"{digest}: not compressed, but with checkpoints or two sizes")
    return ColdLayer(digest, size_bytes, text_bytes, compression, checkpoints)


def _fields_of(compression: str) -> int:
    """Return how many fields of a checkpoint are stored."""
    return 2 if compression == "zstd" else len(fields(Checkpoint))


def _file(sha256: str, table: Sequence[Any], layers: Sequence[ColdLayer]) -> ColdFile:
    _matching(_SHA256, sha256)
    layer, offset, size_bytes = map(_number, table[:3])
    objects = tuple(_matching(_SHA256, each) for each in table[3]) if table[3:] else (sha256,)
    expected = -(-size_bytes // OBJECT_BYTES)
    if len(table) > 4 or len(objects) != expected:
        raise DamagedIndexError(f"{sha256}: {len(objects)} objects; expected {expected}")
    if layer >= len(layers) or offset + size_bytes > layers[layer].uncompressed_bytes:
        raise DamagedIndexError(f"{sha256}: outside of its layer")
    if layers[layer].compression != "none":
        layers[layer].checkpoint_before(offset)
    return ColdFile(layer, offset, size_bytes, objects)


def _matching(pattern: re.Pattern[str], text: Any) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise DamagedIndexError(f"{str(text)[:80]!r} is no SHA-256")
    return text


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 48:
        raise DamagedIndexError(f"{str(value)[:80]!r} is no number of bytes")
    return value
