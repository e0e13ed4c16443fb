"""A file of what containers missed, for `trimtab advanced learn`."""

import json
import os
import re
import threading
from collections import OrderedDict
from pathlib import Path
from urllib.parse import unquote_to_bytes

from trimtab.cold_store.node.allowed import IndexName

_MOST_PIECE_BYTES = 1000
_MOST_FILE_BYTES = 256 << 20
_MOST_REMEMBERED = 1024
_CONTROL, _BYTE = re.compile(rb"[\x00-\x1f\x7f]"), re.compile(r"[\udc80-\udcff]")


class MissesFile:
    """Lines `{"index": ..., "piece": {...}}` appended to `path`, up to 256 MiB. Thread-safe.

    A piece is a line of a fallback's record. The same one again at once, as for the further objects
    of a file, is one miss. Raises OSError if the file cannot be written.
    """

    def __init__(self, path: Path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o644)
        self._lock = threading.Lock()
        self._recent: OrderedDict[bytes, None] = OrderedDict()

    def append(self, index: IndexName, piece: dict[str, str | int | float]) -> None:
        """Add a line; a full disk loses it."""
        line = json.dumps({"index": str(index), "piece": piece}, separators=(",", ":")).encode()
        with self._lock:
            is_new = line not in self._recent
            self._recent[line] = None
            self._recent.move_to_end(line)
            if len(self._recent) > _MOST_REMEMBERED:
                self._recent.popitem(last=False)
            size_bytes = os.fstat(self._descriptor).st_size
            if is_new and size_bytes + len(line) < _MOST_FILE_BYTES:
                try:
                    is_whole = os.write(self._descriptor, line + b"\n") > len(line)
                except OSError:
                    return
                if not is_whole:  # the next line is not to follow half a one
                    os.ftruncate(self._descriptor, size_bytes)


def piece_of(header: str) -> dict[str, str | int | float] | None:
    """Return the piece that a container names; None for anything but a line of a record."""
    encoded = unquote_to_bytes(header)
    if len(encoded) > _MOST_PIECE_BYTES or _CONTROL.search(encoded):
        return None
    text = _BYTE.sub(_spelled, encoded.decode(errors="surrogateescape"))
    try:
        piece = json.loads(text)
        json.dumps(piece, allow_nan=False, ensure_ascii=False).encode()  # no lone surrogates
    except (ValueError, RecursionError):
        return None
    is_flat = isinstance(piece, dict) and {*map(type, piece.values())} <= {str, int, float}
    return piece if is_flat else None


def _spelled(byte: re.Match[str]) -> str:
    """Return a byte of a name that is no UTF-8 as documents have it."""
    return f"\\\\x{ord(byte[0]) - 0xDC00:02x}"
