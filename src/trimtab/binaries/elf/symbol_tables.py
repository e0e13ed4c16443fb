"""Check that the tables with which the dynamic linker finds symbols are consistent.

These are the symbols, their names, both kinds of hash table and the versions (gABI chapter 5; LSB
core 5.0, 10.7; only glibc's `elf/dl-lookup.c` describes the GNU hash table).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf import dynamic_section as dt
from trimtab.binaries.elf.dynamic_section import DynamicSection, check_code
from trimtab.binaries.elf.headers import SHT_DYNSYM
from trimtab.binaries.elf.tables import SYMBOL
from trimtab.binaries.errors import ElfError

_NAMES = (dt.DT_NEEDED, dt.DT_SONAME, dt.DT_RPATH, dt.DT_RUNPATH, dt.DT_FILTER)
_FUNC, _GNU_IFUNC, _FIRST_RESERVED = 2, 10, 0xFF00
_MOST_VERSIONS = 1 << 16
_VERSION_INDEX = 0x7FFF
_NEED_BYTES, _DEFINITION_BYTES = 16, 20


def check_symbols(section: DynamicSection, whole: bool) -> NDArray[np.void]:
    """Return the dynamic symbols, rows of SYMBOL.

    In a library that is not `whole` functions may lie on removed pages. Raises ElfError for a table
    outside the segments, or with indexes out of another table.
    """
    path, values = section.elf.path, section.values
    if dt.DT_STRTAB not in values or dt.DT_SYMTAB not in values:
        raise ElfError(path, "has no table of dynamic symbols")
    strings_bytes = values.get(dt.DT_STRSZ, 0)
    strings = section.read("names", values[dt.DT_STRTAB], max(strings_bytes, 1))
    if strings[-1]:
        raise ElfError(path, "has a table of names without an end")
    for tag, value in section.entries:
        if tag in _NAMES and value >= strings_bytes:
            raise ElfError(path, f"has a name outside its table of names (tag {tag:#x})")
    if values.get(dt.DT_SYMENT, SYMBOL.itemsize) != SYMBOL.itemsize:
        raise ElfError(path, f"has symbols of another size than {SYMBOL.itemsize} bytes")
    count = _count(section)
    if count is None:
        count = _listed(section)
    rows = section.read("symbols", values[dt.DT_SYMTAB], count * SYMBOL.itemsize).view(SYMBOL)
    if count and int(rows["name"].max()) >= strings_bytes:
        raise ElfError(path, "has symbols whose names are outside its table of names")
    if whole:
        _check_code(section, rows)
    _check_versions(section, count, strings_bytes)
    return rows


def _check_code(section: DynamicSection, rows: NDArray[np.void]) -> None:
    """Check that functions lie in executable segments, after the headers."""
    kind, index = rows["info"] & 0xF, rows["section"]
    own = ((kind == _FUNC) | (kind == _GNU_IFUNC)) & (index > 0) & (index < _FIRST_RESERVED)
    check_code(section, "a function", rows["value"][own])


def _count(section: DynamicSection) -> int | None:
    """Return the number of symbols in the hash tables, which must agree; None without one."""
    values = section.values
    if dt.DT_HASH not in values and dt.DT_GNU_HASH not in values:
        raise ElfError(section.elf.path, "has no hash table of its symbols")
    counts: list[int | None] = []
    if dt.DT_HASH in values:
        counts.append(_hashed(section, values[dt.DT_HASH]))
    if dt.DT_GNU_HASH in values:
        counts.append(_gnu_hashed(section, values[dt.DT_GNU_HASH]))
    known = {count for count in counts if count is not None}
    if len(known) > 1:
        raise ElfError(section.elf.path, "has hash tables that do not fit each other")
    return next(iter(known), None)


def _listed(section: DynamicSection) -> int:
    """Return the number of symbols by the section, for a library without exports."""
    address = section.values[dt.DT_SYMTAB]
    header = next((s for s in section.elf.sections if s.type == SHT_DYNSYM), None)
    if header is not None and header.address == address:
        return header.size // SYMBOL.itemsize
    return 0


def _hashed(section: DynamicSection, address: int) -> int:
    buckets, symbols = section.read("hash table", address, 8).view("<u4").tolist()
    words = section.read("hash table", address, 8 + 4 * (buckets + symbols)).view("<u4")
    if not buckets or (symbols and int(words[2:].max()) >= symbols):
        raise ElfError(section.elf.path, "has a hash table that leads out of its symbols")
    return int(symbols)


def _gnu_hashed(section: DynamicSection, address: int) -> int | None:
    path = section.elf.path
    buckets, first, filter_words, shift = (
        section.read("GNU hash table", address, 16).view("<u4").tolist()
    )
    if not buckets or not filter_words or filter_words & (filter_words - 1) or shift > 63:
        raise ElfError(path, "has a damaged GNU hash table")
    filter_bytes, buckets_bytes = 16 + 8 * filter_words, 4 * buckets
    table = section.read("GNU hash table", address, filter_bytes + buckets_bytes)
    bucket = table[filter_bytes:].view("<u4")
    used = bucket[bucket > 0]
    if not used.size:
        return None
    if int(used.min()) < first:
        raise ElfError(path, "has a GNU hash table that leads to symbols without a hash")
    # The last chain ends at the first odd hash after the highest start of a chain.
    begin, chain = int(used.max()) - first, address + filter_bytes + buckets_bytes
    left = section.rest_of_segment("GNU hash table", chain)
    hashes = left[: left.size // 4 * 4].view("<u4")
    for start in range(begin, hashes.size, 1024):
        odd = np.flatnonzero(hashes[start : start + 1024] & 1)
        if odd.size:
            end = start + int(odd[0]) + 1
            section.read("GNU hash table", chain, 4 * end)
            return int(first) + end
    raise ElfError(path, "has a GNU hash table without an end")


def _check_versions(section: DynamicSection, count: int, strings_bytes: int) -> None:
    values, highest = section.values, 1
    if dt.DT_VERSYM not in values:
        return
    if dt.DT_VERNEED in values:
        for words, names in _chain(section, values[dt.DT_VERNEED], _NEED_BYTES, 8, 12):
            _check_name(section, int(words[1]), strings_bytes)
            for auxiliary in names:
                _check_name(section, int(auxiliary[2]), strings_bytes)
                highest = max(highest, (int(auxiliary[1]) >> 16) & _VERSION_INDEX)
    if dt.DT_VERDEF in values:
        for words, names in _chain(section, values[dt.DT_VERDEF], _DEFINITION_BYTES, 12, 16):
            highest = max(highest, int(words[1]) & _VERSION_INDEX)
            for auxiliary in names:
                _check_name(section, int(auxiliary[0]), strings_bytes)
    indices = section.read("versions", values[dt.DT_VERSYM], 2 * count).view("<u2")
    if count and int((indices & _VERSION_INDEX).max()) > highest:
        raise ElfError(section.elf.path, "has symbols of versions that it does not have")


def _chain(
    section: DynamicSection, address: int, length: int, to_names: int, to_next: int
) -> Iterator[tuple[NDArray[np.uint32], list[NDArray[np.uint32]]]]:
    """Yield the entries of a table of versions as words, each with its auxiliary entries."""
    path = section.elf.path
    is_need = length == _NEED_BYTES
    auxiliary_bytes, link = (16, 3) if is_need else (8, 1)
    left = _MOST_VERSIONS
    while True:
        words = section.read("versions", address, length).view("<u4")
        names, at = [], address + int(words[to_names // 4])
        for _ in range(int(words[0] >> 16) if is_need else int(words[1] >> 16)):
            left -= 1
            if left < 0:
                raise ElfError(path, "has more versions than any library")
            names.append(section.read("versions", at, auxiliary_bytes).view("<u4"))
            at += int(names[-1][link])
        yield words, names
        step, left = int(words[to_next // 4]), left - 1
        if not step:
            return
        if left < 0:
            raise ElfError(path, "has more versions than any library")
        address += step


def _check_name(section: DynamicSection, offset: int, strings_bytes: int) -> None:
    if offset >= strings_bytes:
        raise ElfError(section.elf.path, "has a version whose name is outside its table of names")
