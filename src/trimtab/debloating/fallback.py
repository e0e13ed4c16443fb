"""Falling back when removed code is called: what the slim environment needs for it, and its record.

The library `native/fallback` does the work in the program. What it needs of each debloated library
is written here, in the layout of `native/fallback/sidecar.h`.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import PROGRAM_HEADER, PT_LOAD, PT_PHDR
from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.errors import UserError
from trimtab.files import read_json, whole_file
from trimtab.native import native_path

Source = Literal["original", "packed"]

_FOLDER = "trimtab"
_LIBRARY = "libtrimtab-fallback.so"
_HOOK = "00_trimtab_fallback.pth"  # before the other hooks, in the order that Python runs them
# Of the limited API's kind, so that interpreters with other objects (free-threaded) refuse it.
_MODULE = "trimtab_fallback.abi3.so"
_PT_NULL = 0
_HEADER_BYTES, _SOURCE_BYTES = 4096, 4064
_LARGEST_BYTES = (1 << 32) - 1  # of a file, by the width of its offsets in a sidecar
_MAGIC = b"TRIMTABR"
_FUNCTION = np.dtype([("address", "<u4"), ("size", "<u4"), ("offset", "<u4"), ("name", "<u4")])


@dataclass(frozen=True)
class RemovedCall:
    """A removed function that was called: its library's path in the environment, its address there.

    `name` is mangled, and empty where the original names none; `processes` called it first in
    theirs.
    """

    library: str
    address: int
    name: str
    processes: int


def add_fallback(
    environment: Path, prefix: Path, spans_dir: Path, manifest: Path, source: Source
) -> None:
    """Let the programs of the slim `environment` survive calls into removed code.

    `trimtab/removed` in it says for every library of `manifest` that lost code what went, and
    where it is: in the library under `prefix` (`original`), or beside it in the same file
    (`packed`). A call into a library that is not started any more ends the program with a message.
    Python loads the fallback library at its start. Raises UserError when the
    environment has no `site-packages`, was made with mode `punch`, or when an original was changed.
    """
    document = read_json(manifest)
    if document["mode"] == "punch":
        raise UserError(
            f"{manifest}: mode punch leaves zeros where code was, which run instead of stopping;"
            " a fallback needs mode compact or zero"
        )
    packages = sorted(environment.glob("lib/python3*/site-packages"))
    if not packages:
        raise UserError(f"{environment}: no lib/python3*/site-packages, so no Python to fall back")
    folder = environment / _FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    for name in document["files"]:
        flat = name.replace("/", "__")
        spans = Spans.from_json(read_json(spans_dir / f"{flat}.json"))
        if spans.bytes_of(SpanReason.UNUSED):
            _write_sidecar(folder / "removed" / f"{flat}.removed", prefix / name, spans, source)
            _unmap_headers(environment / name)
        elif spans.bytes_of(SpanReason.START_UP_CODE):
            _write_not_started(folder / "removed" / f"{flat}.removed")
    (folder / "removed").mkdir(parents=True, exist_ok=True)
    with whole_file(folder / _LIBRARY, 0o755) as temporary:
        shutil.copyfile(native_path(_LIBRARY), temporary)
    for package in packages:
        (package / _MODULE).unlink(missing_ok=True)
        (package / _MODULE).symlink_to(os.path.relpath(folder / _LIBRARY, package))
        with whole_file(package / _HOOK) as temporary:
            temporary.write_text("import trimtab_fallback\n")


def _write_sidecar(path: Path, original: Path, spans: Spans, source: Source) -> None:
    elf = read_elf(original)
    if (elf.build_id, elf.size_bytes) != (spans.build_id, spans.size_bytes):
        raise UserError(f"{original}: not the library that was debloated; profile it again")
    start, end = _removed_pieces(elf, spans)
    address, names = elf.addresses_of(start), function_names(elf)
    rows = np.zeros(start.size, _FUNCTION)
    rows["address"], rows["size"] = address, end - start
    header, text, packed = np.array([rows.size, 0, 0], "<u8"), b"", b""
    if source == "original":
        status = original.stat()
        header[1:] = status.st_size, status.st_mtime_ns
        text, last = bytes(original.resolve()), elf.size_bytes
        rows["offset"], rows["name"] = start, names.offsets_of(address)
    else:
        packed, place = _packed_names([names.of(each) for each in address.tolist()])
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
    environment: Mapping[str, str], behaviour: Literal["strict", "restore"], record: Path
) -> dict[str, str]:
    """Return `environment` in which removed functions that are called are written to `record`."""
    return {
        **environment,
        "TRIMTAB_FALLBACK": behaviour,
        "TRIMTAB_FALLBACK_RECORD": os.path.abspath(record),
    }


def read_events(path: Path) -> list[RemovedCall]:
    """Return the removed functions that a record of the fallback names, the first called first.

    They are what a new profile has to include. Lines of the behaviour `report` hold only a number
    and add nothing. Raises UserError for a line that the fallback did not write; a last line that
    is not whole is of a process that was killed while it wrote it.
    """
    processes: dict[tuple[str, int, str], set[int]] = {}
    lines = path.read_text().split("\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            event = json.loads(line)
            if "functions" not in event:
                key = (event["library"], int(event["address"]), event["function"])
                processes.setdefault(key, set()).add(event["pid"])
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{path}: line {number} is no record of a removed function") from None
    return [RemovedCall(*key, len(pids)) for key, pids in processes.items()]
