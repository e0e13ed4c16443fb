"""The index of removed files that programs of a slim environment look in.

Its layout is that of `native/file_fallback/index.h`.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import UserError

_MAGIC = b"TRIMTABF"
_LOCATION_BYTES = 4028
_HEADER_BYTES, _FIRST_COUNT, _COUNTS = 4096, 32, 9
_MOST_PATH_BYTES = 4096
_ENTRY = np.dtype(
    [
        *((name, "<u4") for name in ("path", "target", "names", "need", "needs", "kind", "mode")),
        *((name, "<u4") for name in ("user", "group", "modified_ns")),
        ("modified_s", "<i8"),
        ("bytes", "<u8"),
        ("sha256", "V32"),
        ("check", "V16"),
    ]
)
_FOLDER = np.dtype([("path", "<u4"), ("child", "<u4"), ("children", "<u4")])


class EntryKind(IntEnum):
    """What comes back; a KEPT_PROGRAM stayed, but what it needs to start went."""

    REGULAR = 0
    LINK = 1
    FOLDER = 2
    KEPT_PROGRAM = 3


@dataclass(frozen=True)
class Entry:
    """What was removed at `path`, below the environment and without a slash at its beginning.

    `names` are the other names of the same file, `needs` the removed paths without which it does
    not start. `target` is a link's text, `sha256` of a regular file's contents.
    """

    path: str
    kind: EntryKind
    mode: int = 0
    user: int = 0
    group: int = 0
    modified_ns: int = 0
    size_bytes: int = 0
    sha256: bytes = bytes(32)
    target: str = ""
    names: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def index_of(entries: Iterable[Entry], kind: int, location: str, names: Iterable[str]) -> bytes:
    """Return the index of `entries`, whose contents are at `location` (`enum contents_kind`).

    `names` are those of paths that stay and through which something removed is asked for. Raises
    UserError for a path that is too long.
    """
    ordered = sorted(entries, key=lambda entry: os.fsencode(entry.path))
    number = {entry.path: place for place, entry in enumerate(ordered)}
    texts = _Texts()
    children: dict[str, list[int]] = defaultdict(list)
    needs: list[int] = []
    rows = np.zeros(len(ordered), _ENTRY)
    for place, entry in enumerate(ordered):
        if entry.kind != EntryKind.KEPT_PROGRAM:
            children[os.path.dirname(entry.path)].append(place)  # noqa: PTH120  not a place on disk
        rows[place] = _row(entry, texts, len(needs))
        needs += [number[need] for need in entry.needs]
    folders = np.zeros(len(children), _FOLDER)
    first = 0
    for row, (folder, inside) in zip(folders, children.items(), strict=True):
        row["path"], row["child"], row["children"] = texts.place(folder), first, len(inside)
        first += len(inside)
    suspects = {*names, *(name for path in number for name in path.split("/")[-1:])}
    parts = (
        rows.tobytes(),
        _table([_hash(path) for path in number]),
        folders.tobytes(),
        _table([_hash(folder) for folder in children]),
        np.array([place for inside in children.values() for place in inside], "<u4").tobytes(),
        np.array(needs, "<u4").tobytes(),
        _set_of({_hash(name) for name in suspects}),
        texts.bytes(),
    )
    body = b"".join(parts)
    if len(os.fsencode(location)) >= _LOCATION_BYTES:
        raise UserError(f"{location}: longer than {_LOCATION_BYTES - 1} bytes; use fallback: none")
    counts = (kind, len(rows), len(parts[1]) // 4, len(folders), len(parts[3]) // 4,
              len(parts[4]) // 4, len(needs), len(parts[6]) // 4, len(parts[7]))  # fmt: skip
    header = b"".join(
        (
            _MAGIC,
            (_HEADER_BYTES + len(body)).to_bytes(8, "little"),
            hashlib.sha256(body).digest()[:16],
            *(count.to_bytes(4, "little") for count in counts),
            os.fsencode(location).ljust(_LOCATION_BYTES, b"\0"),
        )
    )
    return header + body


def paths_of(index: bytes) -> list[str]:
    """Return the paths of an index's entries, in their order. Raises ValueError for no index."""
    counts = np.frombuffer(index, "<u4", _COUNTS, _FIRST_COUNT) if index[:8] == _MAGIC else None
    if counts is None or len(index) < _HEADER_BYTES + counts[1] * _ENTRY.itemsize + counts[-1]:
        raise ValueError("not an index of removed files")
    rows = np.frombuffer(index, _ENTRY, int(counts[1]), _HEADER_BYTES)
    texts = index[len(index) - int(counts[-1]) :]
    return [os.fsdecode(texts[at : texts.index(b"\0", at)]) for at in rows["path"].tolist()]


class _Texts:
    """Texts, each ended by a zero and at a place; the first one is empty."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {b"": 0}
        self._parts = [b"\0"]
        self._size_bytes = 1

    def place(self, text: str, end: bytes = b"\0") -> int:
        data = os.fsencode(text)
        if data not in self._places:
            self._places[data] = self._size_bytes
            self._parts.append(data + end)
            self._size_bytes += len(data) + len(end)
        return self._places[data]

    def place_of_all(self, texts: Iterable[str]) -> int:
        """Return the place of several texts, ended by an empty one."""
        joined = "\0".join(texts)
        return self.place(joined, b"\0\0") if joined else 0

    def bytes(self) -> bytes:
        return b"".join(self._parts)


def _row(entry: Entry, texts: _Texts, need: int) -> NDArray[np.void]:
    row = np.zeros(1, _ENTRY)
    path, target = os.fsencode(entry.path), os.fsencode(entry.target)
    if max(len(path), len(target)) >= _MOST_PATH_BYTES:
        raise UserError(f"{entry.path}: a path of more than {_MOST_PATH_BYTES - 1} bytes")
    row["path"], row["target"] = texts.place(entry.path), texts.place(entry.target)
    row["names"] = texts.place_of_all(entry.names)
    row["need"], row["needs"] = need, len(entry.needs)
    row["kind"], row["mode"] = entry.kind, entry.mode
    row["user"], row["group"] = entry.user, entry.group
    row["modified_s"], row["modified_ns"] = divmod(entry.modified_ns, 1_000_000_000)
    row["bytes"] = entry.size_bytes
    row["sha256"] = np.void(entry.sha256)
    checked = row.tobytes()[: _ENTRY.fields["check"][1]]  # type: ignore[index]
    row["check"] = np.void(hashlib.sha256(checked + path + b"\0" + target + b"\0").digest()[:16])
    return row[0]  # type: ignore[no-any-return]


def _hash(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in os.fsencode(text):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return (value ^ value >> 32) & 0xFFFFFFFF or 1


def _slots(count: int) -> int:
    return 1 << (2 * count).bit_length() if count else 2


def _free_slot(table: NDArray[np.uint32], wanted: int) -> int:
    slot = wanted & (len(table) - 1)
    while table[slot]:
        slot = (slot + 1) & (len(table) - 1)
    return slot


def _table(hashes: list[int]) -> bytes:
    table = np.zeros(_slots(len(hashes)), "<u4")
    for number, value in enumerate(hashes):
        table[_free_slot(table, value)] = number + 1
    return table.tobytes()


def _set_of(hashes: set[int]) -> bytes:
    table = np.zeros(_slots(len(hashes)), "<u4")
    for value in sorted(hashes):
        table[_free_slot(table, value)] = value
    return table.tobytes()
