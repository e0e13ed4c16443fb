"""Falling back when removed code is called: what the slim environment needs for it, and its record.

The library `native/fallback` does the work in the program. What it needs of each debloated library
is written here, in the layout of `native/fallback/sidecar.h`.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PROGRAM_HEADER, PT_LOAD, PT_PHDR
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.config.groups.debloat import Fallback, Mode
from trimtab.debloating.span_document import spans_of
from trimtab.errors import UserError
from trimtab.files import whole_file
from trimtab.native import native_path
from trimtab.records.library_spans import LibrarySpans, spans_file
from trimtab.records.manifest import Manifest


class Behaviour(StrEnum):
    """What becomes of a call into removed code, besides that it is recorded."""

    STRICT = "strict"
    RESTORE = "restore"


# In a slim environment: the library finds the folder by its own place.
FALLBACK_LIBRARY = Path("trimtab/libtrimtab-fallback.so")
_REMOVED = Path("trimtab/removed")
_PT_NULL = 0
_HEADER_BYTES, _SOURCE_BYTES = 4096, 4064
_LARGEST_BYTES = (1 << 32) - 1  # of a file, by the width of its offsets in a sidecar
_MAGIC = b"TRIMTABR"
_FUNCTION = np.dtype([("address", "<u4"), ("size", "<u4"), ("offset", "<u4"), ("name", "<u4")])


def add_fallback(
    environment: Path, original: Path, manifest: Manifest, spans: Path, source: Fallback
) -> None:
    """Lay down in the slim `environment` what its programs need to survive calls into removed code.

    `trimtab/removed` says for every library of `manifest` that lost code what went, by its document
    in the folder `spans`, and where it is: in the library below `original` (`original`), or beside
    it in the same file (`packed`). A call into a library that is not started any more ends the
    program with a message. Beside it is FALLBACK_LIBRARY, which programs have to load. Raises
    UserError when the libraries were made with mode `punch`, or when an original was changed.
    """
    if manifest.mode == Mode.PUNCH:
        raise UserError(
            "mode punch leaves zeros where code was, which run instead of stopping; a fallback"
            " needs mode compact or zero"
        )
    removed = environment / _REMOVED
    shutil.rmtree(removed.parent, ignore_errors=True)
    removed.mkdir(parents=True)
    for name in manifest.files:
        kept = spans_of(LibrarySpans.read(spans_file(spans, name)))
        sidecar = spans_file(removed, name).with_suffix(".removed")
        if kept.bytes_of(SpanReason.UNUSED):
            _write_sidecar(sidecar, original / name, kept, source)
            _unmap_headers(environment / name)
        elif kept.bytes_of(SpanReason.START_UP_CODE):
            _write_not_started(sidecar)
    with whole_file(environment / FALLBACK_LIBRARY, 0o755) as temporary:
        shutil.copyfile(native_path(FALLBACK_LIBRARY.name), temporary)


def _write_sidecar(path: Path, original: Path, spans: Spans, source: Fallback) -> None:
    elf = read_elf(original)
    if (elf.build_id, elf.size_bytes) != (spans.build_id, spans.size_bytes):
        raise UserError(f"{original}: not the library that was debloated; profile it again")
    start, end = _removed_pieces(elf, spans)
    address, names = elf.addresses_of(start), function_names(elf)
    rows = np.zeros(start.size, _FUNCTION)
    rows["address"], rows["size"] = address, end - start
    header, text, packed = np.array([rows.size, 0, 0], "<u8"), b"", b""
    if source == Fallback.ORIGINAL:
        status = original.stat()
        header[1:] = status.st_size, status.st_mtime_ns
        text, last = bytes(original.resolve()), elf.size_bytes
        rows["offset"], rows["name"] = start, names.offsets_of(address)
    else:
        packed, place = _packed_names([names.of(start) for start in address.tolist()])
        names_at = _HEADER_BYTES + rows.nbytes
        rows["name"] = np.where(place, names_at + place, 0)
        offset = names_at + len(packed) + np.append(0, np.cumsum(end - start))
        rows["offset"], last = offset[:-1], int(offset[-1])
    if len(text) >= _SOURCE_BYTES or max(last, int(address.max())) > _LARGEST_BYTES:
        raise UserError(
            f"{original}: larger than {_LARGEST_BYTES} bytes, or its path longer than"
            f" {_SOURCE_BYTES - 1}; build the environment with fallback: none"
        )
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + header.tobytes() + text.ljust(_SOURCE_BYTES, b"\0"))
        file.write(rows.tobytes() + packed)
        if source == "packed":
            for low, high in zip(start.tolist(), end.tolist(), strict=True):
                file.write(elf.data[low:high].data)


def _write_not_started(path: Path) -> None:
    """Write a sidecar without functions: where constructors did not run, no code is put back."""
    with whole_file(path) as temporary:
        temporary.write_bytes(_MAGIC + bytes(_HEADER_BYTES - len(_MAGIC)))


def _unmap_headers(slim: Path) -> None:
    """Free the addresses that a compacted library's program headers took from removed code.

    glibc keeps a copy of headers that no segment maps (`_dl_map_object_from_fd`).
    """
    elf = read_elf(slim)
    with slim.open("r+b") as file:
        for number, segment in enumerate(elf.segments):
            if segment.type in (PT_LOAD, PT_PHDR) and segment.offset == elf.program_header_offset:
                file.seek(elf.program_header_offset + number * PROGRAM_HEADER.size)
                file.write(replace(segment, type=_PT_NULL).pack())


def _removed_pieces(elf: Elf, spans: Spans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and end (file offsets) of the removed code, cut where functions begin.

    What lies between functions, to align them, belongs to the one before it.
    """
    functions = elf.offsets_of(read_functions(elf).start.astype(np.int64))
    removed = spans.reason == SpanReason.UNUSED
    low, high = spans.start[removed], spans.end[removed]
    inside = np.searchsorted(low, functions, "right") - 1
    within = (inside >= 0) & (functions < high[inside])
    start = np.unique(np.concatenate((low, functions[within])))
    limit = high[np.searchsorted(low, start, "right") - 1]
    return start, np.minimum(limit, np.append(start[1:], spans.size_bytes))


def _packed_names(names: list[str | None]) -> tuple[bytes, NDArray[np.int64]]:
    """Return the names, each ended by a zero, and where each is among them: 0 without one."""
    encoded = [(name or "").encode() for name in names]
    length = np.array([len(name) + 1 if name else 0 for name in encoded], np.int64)
    place = 1 + np.cumsum(length) - length
    text = b"\0" + b"".join(name + b"\0" for name in encoded if name)
    return text, np.where(length, place, 0)


def fallback_environment(
    environment: Mapping[str, str], behaviour: Behaviour, record: Path
) -> dict[str, str]:
    """Return `environment` in which removed functions that are called are written to `record`."""
    return {
        **environment,
        "TRIMTAB_FALLBACK": behaviour.value,
        "TRIMTAB_FALLBACK_RECORD": os.path.abspath(record),
    }
