"""Write the index of removed files."""

import hashlib
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate, takewhile
from posixpath import dirname

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
    ID_BYTES,
    MAGIC,
    MOST_LOCATION_BYTES,
    MOST_NAME_BYTES,
    MOST_PATH_BYTES,
    PLACE,
    SAME_TIME,
    Counts,
    EntryKind,
    IndexEntry,
    folder_hash,
    text_filter,
)
from trimtab.errors import UserError

_NS = 1_000_000_000
_FEWEST_USES = 4  # of a suffix that is worth a place


def index_of(
    entries: Iterable[IndexEntry], kind: int, location: str, names: Iterable[str]
) -> bytes:
    """Return the index of `entries`, whose contents are at `location` (`enum contents_kind`).

    `names` are the names of kept paths that lead to something removed. Raises UserError for a path
    that is too long.
    """
    place = os.fsencode(location)
    if len(place) > MOST_LOCATION_BYTES:
        raise UserError(f"{location}: longer than {MOST_LOCATION_BYTES} bytes; use fallback: none")
    inside = _by_folder(entries)
    ordered = [entry for of_folder in inside.values() for entry in of_folder]
    texts = _Texts()
    records = _Records(ordered, texts)
    rows = {path: row for row, path in enumerate(inside)}
    folders, first = [], 0
    for path, of_folder in inside.items():
        above, name = rows[dirname(path)], texts.place(_name_of(path))
        folders.append(FOLDER.pack(folder_hash(os.fsencode(path)), above, name, first))
        first += len(of_folder)
    starts = range(0, len(ordered), BLOCK_ENTRIES)
    data = [records.block(ordered[start : start + BLOCK_ENTRIES]) for start in starts]
    begins = [0, *accumulate(map(len, data))]
    blocks = [BLOCK.pack(*row) for row in zip(begins, map(zlib.crc32, data), strict=False)]
    leading = (text for entry in ordered for text in (_name_of(entry.path), f"/{entry.path}"))
    words = text_filter({*names, *leading})
    attributes = [ATTRIBUTES.pack(*row) for row in records.attributes]
    endings = [PLACE.pack(texts.place(ending)) for ending in records.endings]
    text = texts.joined()
    counts = Counts(
        len(ordered), len(words), len(folders), len(attributes), len(endings), len(text), begins[-1]
    )
    tables = b"".join(
        (*map(FILTER_WORD.pack, words), *folders, *blocks, *attributes, *endings, text)
    )
    body = tables + b"".join(data)
    identity = hashlib.sha256(body).digest()[:ID_BYTES]
    fields = FIELDS.pack(MAGIC, HEADER_BYTES + len(body), identity, kind, *counts, 0)
    header = bytearray(fields + place.ljust(HEADER_BYTES - FIELDS.size, b"\0"))
    check = zlib.crc32(tables, zlib.crc32(header))
    header[CHECK_AT : CHECK_AT + 4] = check.to_bytes(4, "little")
    return bytes(header) + body


def _by_folder(entries: Iterable[IndexEntry]) -> dict[str, list[IndexEntry]]:
    """Return the entries of each folder sorted by name, and the parent folders, both by hash."""
    inside: dict[str, list[IndexEntry]] = defaultdict(list)
    for entry in entries:
        _check_length(entry)
        folder = dirname(entry.path)
        inside[folder].append(entry)
        while folder and (folder := dirname(folder)) not in inside:
            inside[folder] = []
    inside.setdefault("", [])
    by_hash = sorted(inside, key=lambda path: (folder_hash(os.fsencode(path)), path))
    return {
        path: sorted(inside[path], key=lambda entry: os.fsencode(entry.path)) for path in by_hash
    }


def _check_length(entry: IndexEntry) -> None:
    path, target = os.fsencode(entry.path), os.fsencode(entry.target)
    if max(len(path), len(target)) > MOST_PATH_BYTES:
        raise UserError(f"{entry.path}: a path of more than {MOST_PATH_BYTES} bytes")
    if len(path) - path.rfind(b"/") - 1 > MOST_NAME_BYTES:
        raise UserError(f"{entry.path}: a name of more than {MOST_NAME_BYTES} bytes")


class _Texts:
    """Texts with a terminating zero, each at a place; the first is empty, and so is the last."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {b"": 0}
        self._parts = [b"\0"]
        self._size_bytes = 1

    def place(self, text: str) -> int:
        return self._place(os.fsencode(text), b"\0")

    def place_of_all(self, texts: Iterable[str]) -> int:
        """Return the place of several texts, ended by an empty text."""
        joined = b"\0".join(map(os.fsencode, texts))
        return self._place(joined, b"\0\0") if joined else 0

    def joined(self) -> bytes:
        return b"".join((*self._parts, b"\0"))

    def _place(self, data: bytes, end: bytes) -> int:
        if data + end not in self._places and data:
            self._places[data + end] = self._size_bytes
            self._parts.append(data + end)
            self._size_bytes += len(data) + len(end)
        return self._places[data + end] if data else 0


class _Records:
    """The records of entries, in blocks that can be read independently."""

    def __init__(self, ordered: list[IndexEntry], texts: _Texts) -> None:
        self._texts = texts
        self._numbers = {entry.path: number for number, entry in enumerate(ordered)}
        self.attributes = sorted({_attributes(entry) for entry in ordered})
        self._attributes = {row: place for place, row in enumerate(self.attributes)}
        self.endings = ["", *_endings(_name_of(path) for path in self._numbers)]
        self._endings = {ending: place for place, ending in enumerate(self.endings)}

    def block(self, entries: Iterable[IndexEntry]) -> bytes:
        parts = bytearray()
        stem_before, modified_before_ns = b"", 0
        for entry in entries:
            name = _name_of(entry.path)
            ending = next((end for end in _possible_endings(name) if end in self._endings), "")
            stem = os.fsencode(name.removesuffix(ending))
            shared = _shared(stem_before, stem)
            has_time = entry.modified_ns != modified_before_ns
            has_more = bool(entry.names or entry.needs)
            flags = (not has_time) * SAME_TIME + has_more * HAS_MORE
            parts += _number(self._attributes[_attributes(entry)] << FLAG_BITS | flags)
            parts += _number(shared) + _text(stem[shared:]) + _number(self._endings[ending])
            if has_time:
                parts += _time(entry.modified_ns, modified_before_ns)
            if has_more:
                parts += self._more(entry)
            if entry.kind == EntryKind.REGULAR:
                parts += _number(entry.size_bytes) + entry.digest.ljust(DIGEST_BYTES, b"\0")
            elif entry.kind == EntryKind.LINK:
                parts += _text(os.fsencode(entry.target)) + b"\0"
            stem_before, modified_before_ns = stem, entry.modified_ns
        return bytes(parts)

    def _more(self, entry: IndexEntry) -> bytes:
        """Return the place of the file's names, one list for all of them, and of its needs."""
        all_names = sorted((entry.path, *entry.names)) if entry.names else ()
        needs = [_number(self._numbers[need]) for need in entry.needs]
        numbers = (_number(self._texts.place_of_all(all_names)), _number(len(needs)), *needs)
        return b"".join(numbers)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _shared(one: bytes, other: bytes) -> int:
    """Return how many bytes both have in common at the beginning."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in alike)


def _attributes(entry: IndexEntry) -> tuple[int, int, int, int]:
    return int(entry.kind), entry.mode, entry.user, entry.group


def _possible_endings(name: str) -> Iterator[str]:
    """Yield the suffixes from a name's first dot and its last one, such as `.so.1` and `.1`."""
    for at in (name.find(".", 1), name.rfind(".", 1)):
        if at > 0:
            yield name[at:]


def _endings(names: Iterable[str]) -> Collection[str]:
    """Return the suffixes that many names have, the most frequent first."""
    uses = Counter(ending for name in names for ending in {*_possible_endings(name)})
    often = [ending for ending, count in uses.items() if count >= _FEWEST_USES]
    return sorted(often, key=lambda ending: (-uses[ending], ending))


def _number(value: int) -> bytes:
    """Return 7 bits a byte, the lowest first; all but the last byte have the highest bit set."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _text(text: bytes) -> bytes:
    return _number(len(text)) + text


def _time(now_ns: int, before_ns: int) -> bytes:
    """Return the seconds since the time before, negative ones as odd numbers, and nanoseconds."""
    now_s, of_second_ns = divmod(now_ns, _NS)
    seconds = now_s - before_ns // _NS
    return _number(2 * seconds if seconds >= 0 else -2 * seconds - 1) + _number(of_second_ns)
