"""Read the index of removed files, as the file fallback does in a program."""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, repeat

from trimtab.debloating.file_index.layout import (
    ATTRIBUTES,
    BLOCK,
    BLOCK_ENTRIES,
    CHECK_AT,
    DIGEST_BYTES,
    FIELDS,
    FILTER_WORD,
    FLAG_BITS,
    FOLDER,
    HAS_MORE,
    HEADER_BYTES,
    MAGIC,
    MOST_PATH_BYTES,
    PLACE,
    SAME_TIME,
    Counts,
    EntryKind,
    IndexEntry,
)

_NS = 1_000_000_000
_MOST_NUMBER_BYTES = 10  # of 64 bits


def paths_of(index: bytes) -> list[str]:
    """Return the paths of an index's entries by number. Raises ValueError for any other data."""
    return [entry.path for entry in entries_of(index)]


def location_of(index: bytes) -> str:
    """Return where the contents of an index's files are; "" for the store in the environment."""
    return os.fsdecode(index[FIELDS.size : HEADER_BYTES].rstrip(b"\0"))


def entries_of(index: bytes) -> list[IndexEntry]:
    """Return an index's entries by number. Raises ValueError for a damaged index."""
    try:
        tables = _tables_of(index)
        entries: list[IndexEntry] = []
        needs: list[list[int]] = []
        folders = list(tables.folder_of_each())
        for first in range(0, tables.counts.entries, BLOCK_ENTRIES):
            block = _Block(tables, first // BLOCK_ENTRIES)
            for folder in folders[first : first + BLOCK_ENTRIES]:
                entry, needed = block.next(folder)
                entries.append(entry)
                needs.append(needed)
        return [
            replace(entry, needs=tuple(entries[number].path for number in needed))
            for entry, needed in zip(entries, needs, strict=True)
        ]
    except (IndexError, struct.error, ValueError) as error:
        raise ValueError(f"a damaged index of removed files: {error}") from None


@dataclass(frozen=True)
class _Tables:
    counts: Counts
    folders: list[tuple[int, ...]]
    blocks: list[tuple[int, ...]]
    attributes: list[tuple[int, ...]]
    endings: list[bytes]
    text: bytes
    records: bytes

    def path_of(self, row: int) -> bytes:
        """Return the path of a folder, from its name and its parents' names."""
        path = b""
        while name := _text_at(self.text, self.folders[row][2]):
            path = name + b"/" * bool(path) + path
            if len(path) > MOST_PATH_BYTES:
                raise ValueError("folders in a ring")
            row = self.folders[row][1]
        return path

    def folder_of_each(self) -> Iterator[bytes]:
        """Yield the folder of each entry."""
        firsts = [*(row[3] for row in self.folders), self.counts.entries]
        if firsts[0] != 0 or firsts != sorted(firsts):
            raise ValueError("folders in another order")
        for row, (first, end) in enumerate(pairwise(firsts)):
            yield from repeat(self.path_of(row), end - first)


class _Block:
    """The records of a block, one after another."""

    def __init__(self, tables: _Tables, number: int) -> None:
        begin, check = tables.blocks[number]
        is_last = number + 1 == len(tables.blocks)
        end = len(tables.records) if is_last else tables.blocks[number + 1][0]
        self._tables, self._data, self._at = tables, tables.records[begin:end], 0
        self._stem, self._second, self._ns = b"", 0, 0
        if zlib.crc32(self._data) != check:
            raise ValueError("a block of other records")

    def next(self, folder: bytes) -> tuple[IndexEntry, list[int]]:
        head = self._number()
        kind, mode, user, group = self._tables.attributes[head >> FLAG_BITS]
        shared = self._number()
        if shared > len(self._stem):
            raise ValueError("a name that begins like no other")
        self._stem = self._stem[:shared] + self._bytes(self._number())
        name = self._stem + self._tables.endings[self._number()]
        if not head & SAME_TIME:
            turned = self._number()
            self._second += -(turned + 1) // 2 if turned & 1 else turned // 2
            self._ns = self._number()
        path = folder + b"/" * bool(folder) + name
        names: tuple[str, ...] = ()
        needs: list[int] = []
        if head & HAS_MORE:
            names = tuple(self._names(self._number(), path))
            needs = [self._number() for _ in range(self._number())]
        size_bytes, digest, target = 0, bytes(DIGEST_BYTES), b""
        if kind == EntryKind.REGULAR:
            size_bytes, digest = self._number(), self._bytes(DIGEST_BYTES)
        elif kind == EntryKind.LINK:
            target = self._bytes(self._number())
            self._bytes(1)
        entry = IndexEntry(
            os.fsdecode(path), EntryKind(kind), mode, user, group, self._second * _NS + self._ns,
            size_bytes, digest, os.fsdecode(target), names,
        )  # fmt: skip
        return entry, needs

    def _number(self) -> int:
        value = 0
        for place in range(_MOST_NUMBER_BYTES):
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value
        raise ValueError("a number of more than 64 bits")

    def _bytes(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise ValueError("a cut record")
        self._at += count
        return self._data[self._at - count : self._at]

    def _names(self, at: int, own: bytes) -> Iterator[str]:
        while at and (name := _text_at(self._tables.text, at)):
            at += len(name) + 1
            if name != own:
                yield os.fsdecode(name)


def _tables_of(index: bytes) -> _Tables:
    magic, file_bytes, _, _, *numbers, check = FIELDS.unpack_from(index)
    if magic != MAGIC or file_bytes != len(index):
        raise ValueError("another format, or cut")
    counts = Counts(*numbers)
    end = len(index) - counts.record_bytes
    header = bytearray(index[:HEADER_BYTES])
    header[CHECK_AT : CHECK_AT + 4] = bytes(4)
    if zlib.crc32(index[HEADER_BYTES:end], zlib.crc32(header)) != check:
        raise ValueError("other tables than were written")
    at = HEADER_BYTES + counts.filter_words * FILTER_WORD.size
    tables = []
    for row, count in (
        (FOLDER, counts.folders), (BLOCK, counts.blocks), (ATTRIBUTES, counts.attributes),
        (PLACE, counts.endings),
    ):  # fmt: skip
        size_bytes = row.size * count
        tables.append(list(row.iter_unpack(index[at : at + size_bytes])))
        at += size_bytes
    folders, blocks, attributes, places = tables
    if at + counts.text_bytes != end:
        raise ValueError("parts of other lengths")
    text = index[at:end]
    endings = [_text_at(text, place) for (place,) in places]
    return _Tables(counts, folders, blocks, attributes, endings, text, index[end:])


def _text_at(text: bytes, at: int) -> bytes:
    return text[at : text.index(b"\0", at)]
