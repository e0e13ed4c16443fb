"""The index of removed files, as the file fallback reads it in a slim program: C, sanitized."""

import atexit
import hashlib
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from trimtab.errors import UserError

ERRORS = UserError
_PROJECT = Path(__file__).parents[3]
_NATIVE = _PROJECT / "native"
_STATUS_DAMAGED = 70
_HEADER_BYTES, _ENTRY_BYTES, _CHECKED_BYTES, _CHECK_BYTES = 4096, 104, 88, 16
_ROWS_BYTES = (104, 4, 12, 4, 4, 4, 4)  # of what lies before the texts, as index.h says
_FILE_BYTES, _CHECKS = 1, 2  # made right again after a change, so that what is behind is reached


def _built() -> Path:
    """Return the reader: index.c sanitized, and what it takes from the fallback as it is there."""
    folder = Path(tempfile.mkdtemp(prefix="trimtab-fuzz-index-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    system = folder / "system.o"
    own = ["-O1", "-ffreestanding", "-fno-tree-loop-distribute-patterns"]
    command = ["gcc", "-c", *own, "-o", system, _NATIVE / "file_fallback/system.c"]
    subprocess.run(command, check=True)
    hidden = [f"--localize-symbol={name}" for name in ("memcpy", "memset", "memcmp", "strlen")]
    subprocess.run(["objcopy", *hidden, system], check=True)
    sanitized = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = [
        _PROJECT / "tests/native/read_index.c",
        _NATIVE / "file_fallback/index.c",
        _NATIVE / "digest/sha256.c",
    ]
    reader = folder / "read_index"
    subprocess.run(["gcc", *sanitized, "-o", reader, *sources, system], check=True)
    return reader


_READER = _built()


def run(data: bytes, folder: Path) -> None:
    """The first byte says what is made right again, the rest is the index."""
    right, index = data[0] if data else 0, bytearray(data[1:])
    if len(index) >= _HEADER_BYTES and right & _FILE_BYTES:
        struct.pack_into("<Q", index, 8, len(index))
    if len(index) >= _HEADER_BYTES and right & _CHECKS:
        _make_checks_right(index)
    (folder / "trimtab").mkdir(exist_ok=True)
    (folder / "trimtab/files.index").write_bytes(index)
    done = subprocess.run([_READER, folder], capture_output=True, timeout=20, check=False)
    if done.returncode == _STATUS_DAMAGED and b"damaged; debloat again" in done.stderr:
        raise UserError(done.stderr.decode(errors="replace"))
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def _make_checks_right(index: bytearray) -> None:
    _, entries, slots, folders, folder_slots, children, needs, names, _ = struct.unpack_from(
        "<9I", index, 32
    )
    counts = (entries, slots, folders, folder_slots, children, needs, names)
    text = _HEADER_BYTES + sum(
        count * size for count, size in zip(counts, _ROWS_BYTES, strict=True)
    )
    if text > len(index):
        return
    for at in range(_HEADER_BYTES, _HEADER_BYTES + entries * _ENTRY_BYTES, _ENTRY_BYTES):
        path, target = struct.unpack_from("<2I", index, at)
        checked = bytes(index[at : at + _CHECKED_BYTES])
        for place in (text + path, text + target):
            checked += bytes(index[place : place + 4096]).partition(b"\0")[0] + b"\0"
        end = at + _CHECKED_BYTES
        index[end : end + _CHECK_BYTES] = hashlib.sha256(checked).digest()[:_CHECK_BYTES]
