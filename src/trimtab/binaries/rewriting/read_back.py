"""Read a slim library back and compare it with its source, before any program loads it.

Errors of our readers and writers are found here, in the run that made them, and not by a crash. The
file has to follow all format rules, every kept byte has to be at its old address, and nothing else
may have changed except as intended.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf import dynamic_section as dt
from trimtab.binaries.elf.dynamic_section import ENTRY, read_dynamic_section
from trimtab.binaries.elf.format_rules import check_format
from trimtab.binaries.elf.headers import (
    HEADER,
    PAGE_BYTES,
    PF_R,
    PF_X,
    PROGRAM_HEADER,
    PT_DYNAMIC,
    PT_LOAD,
    PT_NULL,
    PT_PHDR,
    SECTION_HEADER,
    SHF_ALLOC,
    SHT_NOBITS,
    SHT_NULL,
    ProgramHeader,
)
from trimtab.binaries.elf.reader import Elf, read_elf, read_loaded
from trimtab.binaries.errors import ElfError
from trimtab.binaries.rewriting.regions import Patch, apply_patches
from trimtab.binaries.rewriting.section_headers import without_symbols
from trimtab.binaries.rewriting.spans import Spans
from trimtab.errors import TrimtabError

WRITTEN_WRONGLY = "its slim library was written wrongly and is not used"
_CHUNK_BYTES = 1 << 22
# Header fields with offsets and numbers of entries of the tables.
_MOVED_FIELDS = (5, 6, 10, 12)


class WrittenWronglyError(TrimtabError):
    """A slim library is not as intended: nobody may load it."""


def read_back(
    path: Path, source: Elf, spans: Spans, patches: Sequence[Patch] = (), companion: str = ""
) -> None:
    """Check the library at `path`, which `rewrite` made from `source` by `spans` and `patches`.

    `companion` is the name added by `add_dt_auxiliary`, if any. Raises WrittenWronglyError, which
    names the library and the violated rule, after removing the file.
    """
    try:
        if not spans.removed_bytes:
            _check_copy(read_loaded(path)[0], source, patches)
            return
        slim = read_elf(path)
        check_format(slim, whole=False)
        _check_header(slim, source)
        _check_segments(slim, source)
        meant = _meant(slim, source, companion)
        _check_bytes(slim, source, spans, _Comparison(spans.end, spans.kept, patches, meant))
        _check_sections(slim, source, spans)
    except ElfError as error:
        path.unlink(missing_ok=True)
        why = str(error).removeprefix(f"{path}: ")
        raise WrittenWronglyError(
            f"{source.path}: {WRITTEN_WRONGLY}: it {why}; please report this"
        ) from None


def _check_copy(slim: Elf, source: Elf, patches: Sequence[Patch]) -> None:
    """Nothing was removed: check that both files are equal, except for the patches."""
    if slim.size_bytes != source.size_bytes:
        raise ElfError(slim.path, "is of another length than its source")
    for at in range(0, source.size_bytes, _CHUNK_BYTES):
        before = source.read(at, _CHUNK_BYTES)
        apply_patches(patches, at, before)
        if not np.array_equal(slim.read(at, _CHUNK_BYTES), before):
            raise ElfError(slim.path, f"has other bytes than its source from {at:#x} on")


def _check_header(slim: Elf, source: Elf) -> None:
    fields = [list(HEADER.unpack(elf.data[: HEADER.size].tobytes())) for elf in (slim, source)]
    for index in _MOVED_FIELDS:
        fields[0][index] = fields[1][index]
    if fields[0] != fields[1]:
        raise ElfError(slim.path, "has another header than its source")


def _check_segments(slim: Elf, source: Elf) -> None:
    """Check that segments map the kept memory of the source's, with the same protection."""
    ends = [
        (elf.loads[0].address, elf.loads[-1].address + elf.loads[-1].memory_bytes)
        for elf in (slim, source)
    ]
    if ends[0] != ends[1]:
        raise ElfError(slim.path, "takes other addresses than its source")
    owners = source.loads
    for load in slim.loads:
        if _is_table(slim, load):
            continue
        owner = next(
            (
                s
                for s in owners
                if s.address <= load.address
                and load.address + load.memory_bytes <= s.address + s.memory_bytes
            ),
            None,
        )
        if owner is None:
            raise ElfError(slim.path, f"maps {load.address:#x}, which its source does not")
        allowed = (owner.flags,) if load.file_bytes else (owner.flags, owner.flags & ~PF_X)
        if load.flags not in allowed:
            raise ElfError(slim.path, f"protects {load.address:#x} unlike its source")
    moved = {PT_LOAD, PT_NULL, PT_PHDR}
    others = [
        [replace(s, offset=0) for s in elf.segments if s.type not in moved]
        for elf in (slim, source)
    ]
    if others[0] != others[1]:
        raise ElfError(slim.path, "has other segments than its source")


def _is_table(slim: Elf, load: ProgramHeader) -> bool:
    """Whether a segment holds only the program headers."""
    length = len(slim.segments) * PROGRAM_HEADER.size
    return load.flags == PF_R and (load.offset, load.file_bytes) == (
        slim.program_header_offset,
        length,
    )


def _meant(slim: Elf, source: Elf, companion: str) -> list[tuple[int, int]]:
    """Return the file ranges of the source that may change: headers and the auxiliary's entry."""
    table, length = source.program_header_offset, len(source.segments) * PROGRAM_HEADER.size
    ranges = [(0, HEADER.size), (table, table + length)]
    table, length = source.section_header_offset, len(source.sections) * SECTION_HEADER.size
    ranges.append((table, table + length))
    if companion:
        ranges.append(_companion(slim, source, companion))
    return ranges


def _companion(slim: Elf, source: Elf, companion: str) -> tuple[int, int]:
    """Return the range of the dynamic entry for `companion`, after a check of its name."""
    section = read_dynamic_section(slim)
    index = max(
        (i for i, (tag, _) in enumerate(section.entries) if tag == dt.DT_AUXILIARY), default=-1
    )
    if index < 0:
        raise ElfError(slim.path, "has lost the name of the library beside it")
    address = (section.values[dt.DT_STRTAB] + section.entries[index][1]) % (1 << 64)
    name = companion.encode(errors="surrogateescape") + b"\0"
    if section.read("a name", address, len(name)).tobytes() != name:
        raise ElfError(slim.path, "has another name of the library beside it")
    [dynamic] = [segment for segment in source.segments if segment.type == PT_DYNAMIC]
    start = dynamic.offset + index * ENTRY.size
    return start, start + ENTRY.size


@dataclass(frozen=True, eq=False)
class _Comparison:
    """The expected bytes: spans (`end`, `kept`), patches, and ranges that may change.

    `meant` are ranges [start, end) of the source that are checked separately.
    """

    end: NDArray[np.int64]
    kept: NDArray[np.bool_]
    patches: Sequence[Patch]
    meant: list[tuple[int, int]]


def _check_bytes(slim: Elf, source: Elf, spans: Spans, comparison: _Comparison) -> None:
    """Check that every kept, mapped byte has its old address, and that none is missing."""
    with slim.path.open("rb", 0) as now, source.path.open("rb", 0) as before:
        covered = _check_loads(slim, source, comparison, now, before)
    _check_covered(slim, source, spans, covered)


def _check_loads(
    slim: Elf, source: Elf, comparison: _Comparison, now: BinaryIO, before: BinaryIO
) -> NDArray[np.bool_]:
    """Compare the segments' bytes, and return which pages of the source they cover.

    The rest of a segment's last page is mapped too, with the file's bytes there.
    """
    owners = source.loads
    covered = np.zeros(-(-source.size_bytes // PAGE_BYTES) + 1, bool)
    for load in slim.loads:
        if _is_table(slim, load) or not load.file_bytes:
            continue
        owner = next(s for s in owners if s.address <= load.address < s.address + s.memory_bytes)
        start = load.address - owner.address + owner.offset
        if start + load.file_bytes > owner.end:
            raise ElfError(slim.path, f"has bytes at {load.address:#x} where its source has none")
        covered[start // PAGE_BYTES : -(-(start + load.file_bytes) // PAGE_BYTES)] = True
        for at in range(0, load.file_bytes, _CHUNK_BYTES):
            length = min(_CHUNK_BYTES, load.file_bytes - at)
            _compare(now, before, comparison, load.offset + at, start + at, length)
        if load.memory_bytes == load.file_bytes:
            rest = -load.end % PAGE_BYTES
            _compare(now, before, comparison, load.end, start + load.file_bytes, rest, True)
    return covered


def _check_covered(slim: Elf, source: Elf, spans: Spans, covered: NDArray[np.bool_]) -> None:
    kept = spans.kept
    start, end = spans.start[kept], spans.end[kept]
    missing = np.cumsum(np.append(0, ~covered))
    for load in source.loads:
        low, high = np.maximum(start, load.offset), np.minimum(end, load.end)
        low, high = low[high > low], high[high > low]
        gone = missing[-(-high // PAGE_BYTES)] - missing[low // PAGE_BYTES]
        if gone.any():
            where = int(low[gone > 0][0])
            raise ElfError(slim.path, f"lacks kept bytes of its source's page at {where:#x}")


def _compare(
    now: BinaryIO,
    before: BinaryIO,
    comparison: _Comparison,
    offset: int,
    start: int,
    length: int,
    may_end: bool = False,
) -> None:
    """Compare bytes of the slim file from `offset` on with the source's from `start` on.

    If files `may_end`, zeros follow.
    """
    found = os.pread(now.fileno(), length, offset)
    expected = bytearray(os.pread(before.fileno(), length, start))
    if may_end:
        found, expected = found.ljust(length, b"\0"), expected.ljust(length, b"\0")
    if len(found) != length or len(expected) != length:
        raise ElfError(Path(now.name), "became shorter while it was read")
    apply_patches(comparison.patches, start, np.frombuffer(expected, np.uint8))
    if found == expected:
        return
    differs = np.frombuffer(found, np.uint8) != np.frombuffer(expected, np.uint8)
    first = int(np.searchsorted(comparison.end, start, "right"))
    last = int(np.searchsorted(comparison.end, start + length)) + 1
    ends = np.minimum(comparison.end[first:last] - start, length)
    within = int(ends[-1]) if ends.size else 0
    differs[:within] &= np.repeat(comparison.kept[first:last], np.diff(ends, prepend=0))
    for low, high in comparison.meant:
        differs[max(low - start, 0) : max(high - start, 0)] = False
    if differs.any():
        where = start + int(differs.argmax())
        raise ElfError(Path(now.name), f"has other bytes than its source's at {where:#x}")


def _check_sections(slim: Elf, source: Elf, spans: Spans) -> None:
    """Check that sections outside segments, such as kept symbols, are complete."""
    if len(slim.sections) < len(source.sections):
        raise ElfError(slim.path, "has fewer sections than its source")
    kept = spans.kept
    for index, section in enumerate(without_symbols(source, spans)):
        if section.type in (SHT_NULL, SHT_NOBITS) or section.flags & SHF_ALLOC:
            continue
        now = slim.sections[index]
        if now.size != section.size or now.type != section.type:
            raise ElfError(slim.path, f"has another section {section.name} than its source")
        first = int(np.searchsorted(spans.end, section.offset, "right"))
        last = int(np.searchsorted(spans.end, section.end))
        if not section.size or not kept[first : last + 1].all():
            continue
        before = source.read(section.offset, section.size)
        if not np.array_equal(slim.read(now.offset, now.size), before):
            raise ElfError(slim.path, f"has other bytes in section {section.name}")
