"""The index of removed files, as the file fallback reads it in a slim program: C, sanitized."""

import atexit
import shutil
import struct
import subprocess
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path

from trimtab.debloating.file_index.layout import (
    ATTRIBUTES,
    BLOCK,
    CHECK_AT,
    FIELDS,
    FILTER_WORD,
    FOLDER,
    HEADER_BYTES,
    PLACE,
    Counts,
)
from trimtab.debloating.file_index.reading import entries_of
from trimtab.errors import UserError

ERRORS = UserError
_PROJECT = Path(__file__).parents[3]
_NATIVE = _PROJECT / "native"
_STATUS_DAMAGED = 70
_FILE_BYTES, _CHECKS = 1, 2  # made right again after a change, so that what is behind is reached


def build_reader() -> Path:
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
        _NATIVE / "digest/crc32.c",
    ]
    reader = folder / "read_index"
    subprocess.run(["gcc", *sanitized, "-o", reader, *sources, system], check=True)
    return reader


READER = build_reader()


def run(data: bytes, folder: Path) -> None:
    """The first byte says what is made right again, the rest is the index."""
    right, index = data[0] if data else 0, bytearray(data[1:])
    if len(index) >= HEADER_BYTES and right & _FILE_BYTES:
        struct.pack_into("<Q", index, 8, len(index))
    if len(index) >= HEADER_BYTES and right & _CHECKS:
        _make_checks_right(index)
    with suppress(ValueError):
        entries_of(bytes(index))
    (folder / "trimtab").mkdir(exist_ok=True)
    (folder / "trimtab/files.index").write_bytes(index)
    done = subprocess.run([READER, folder], capture_output=True, timeout=20, check=False)
    if done.returncode == _STATUS_DAMAGED and b"damaged; debloat again" in done.stderr:
        raise UserError(done.stderr.decode(errors="replace"))
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def _make_checks_right(index: bytearray) -> None:
    _, _, _, _, *numbers, _ = FIELDS.unpack_from(index)
    counts = Counts(*numbers)
    blocks = HEADER_BYTES + counts.filter_words * FILTER_WORD.size + counts.folders * FOLDER.size
    records = blocks + counts.blocks * BLOCK.size + counts.attributes * ATTRIBUTES.size
    records += counts.endings * PLACE.size + counts.text_bytes
    if records > len(index):
        return
    rows = list(BLOCK.iter_unpack(index[blocks : blocks + counts.blocks * BLOCK.size]))
    ends = [*(begin for begin, _ in rows[1:]), counts.record_bytes]
    for number, ((begin, _), end) in enumerate(zip(rows, ends, strict=False)):
        check = zlib.crc32(index[records + begin : records + end])
        BLOCK.pack_into(index, blocks + number * BLOCK.size, begin, check)
    index[CHECK_AT : CHECK_AT + 4] = bytes(4)
    struct.pack_into("<I", index, CHECK_AT, zlib.crc32(index[:records]))
