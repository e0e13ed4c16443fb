"""The layout of the index of removed files, as in `native/file_fallback/index.h`."""

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

MAGIC = b"TRIMTAB2"
HEADER_BYTES = 4096
ID_BYTES = 16
DIGEST_BYTES = 16  # of the SHA-256 of a file's contents
BLOCK_ENTRIES = 16
MOST_NAME_BYTES = 255
MOST_PATH_BYTES = 4095  # 4096 with the terminating zero

FIELDS = struct.Struct(f"<8sQ{ID_BYTES}s9I")  # of the header, before the location
CHECK_AT = FIELDS.size - 4  # the last field
MOST_LOCATION_BYTES = HEADER_BYTES - FIELDS.size - 1
FILTER_WORD = struct.Struct("<Q")
FOLDER = struct.Struct("<4I")  # hash of the path, row of the parent folder, name, first entry
BLOCK = struct.Struct("<2I")  # start among the records, their CRC-32
ATTRIBUTES = struct.Struct("<4I")  # kind, mode, user, group
PLACE = struct.Struct("<I")  # of a suffix in the texts

# Flags in the first number of a record.
SAME_TIME, HAS_MORE, FLAG_BITS = 1, 2, 2


class EntryKind(IntEnum):
    """What is restored; a KEPT_PROGRAM stayed, but files that it needs to start were removed."""

    REGULAR = 0
    LINK = 1
    FOLDER = 2
    KEPT_PROGRAM = 3


@dataclass(frozen=True)
class IndexEntry:
    """A removed file, link or folder at `path`, below the environment and without a leading slash.

    `names` are the other names of the file, `needs` the removed paths that it needs to start.
    `target` is a link's text, `digest` the first DIGEST_BYTES of the SHA-256 of a regular file's
    contents.
    """

    path: str
    kind: EntryKind
    mode: int = 0
    user: int = 0
    group: int = 0
    modified_ns: int = 0
    size_bytes: int = 0
    digest: bytes = bytes(DIGEST_BYTES)
    target: str = ""
    names: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


class Counts(NamedTuple):
    """Numbers of rows or bytes of the parts of an index; a block has BLOCK_ENTRIES entries."""

    entries: int
    filter_words: int
    folders: int
    attributes: int
    endings: int
    text_bytes: int
    record_bytes: int

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.entries // BLOCK_ENTRIES)


def hash_of(text: bytes) -> int:
    """Return the 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def folder_hash(path: bytes) -> int:
    """Return the 32-bit hash by which folders are sorted."""
    value = hash_of(path)
    return (value ^ value >> 32) & 0xFFFFFFFF


def text_filter(texts: Iterable[str]) -> list[int]:
    """Return the words of a filter that passes `texts`, and at most one in thirty others."""
    hashes = {hash_of(os.fsencode(text)) * 0x9E3779B97F4A7C15 % (1 << 64) for text in texts}
    words = [0] * (1 << max(len(hashes) - 1, 0).bit_length() >> 3 or 1)
    for value in hashes:
        bits = (value >> shift & 63 for shift in (0, 6, 12, 18))
        words[(value >> 32) % len(words)] |= sum({1 << bit for bit in bits})
    return words
