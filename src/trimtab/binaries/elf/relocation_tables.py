"""Check the targets and symbols of relocations.

Formats: System V psABI, AMD64 supplement, 4.4; packed ones, the gABI's chapter on relocation.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf import dynamic_section as dt
from trimtab.binaries.elf.dynamic_section import DynamicSection, check_code
from trimtab.binaries.elf.headers import PF_W
from trimtab.binaries.elf.packed import packed_slots
from trimtab.binaries.elf.tables import RELOCATION
from trimtab.binaries.errors import ElfError

_NONE, _RELATIVE, _IRELATIVE = 0, 8, 37  # R_X86_64_*
_JUMP_SLOT, _OF_SYMBOLS = 7, (6, 7)  # with GLOB_DAT
_LOCAL, _FIRST_RESERVED = 0, 0xFF00
_VISIBILITY = 3  # of st_other; STV_DEFAULT is 0
ARRAYS = (
    (dt.DT_INIT_ARRAY, dt.DT_INIT_ARRAYSZ),
    (dt.DT_FINI_ARRAY, dt.DT_FINI_ARRAYSZ),
    (dt.DT_PREINIT_ARRAY, dt.DT_PREINIT_ARRAYSZ),
)
_DF_TEXTREL = 0x4
_DT_FLAGS = 30
_RELOCATION_BYTES, _WORD_BYTES = 24, 8


def check_relocations(section: DynamicSection, symbols: NDArray[np.void], whole: bool) -> None:
    """Raise ElfError unless relocations write into writable segments and name `symbols`.

    In a library that is not `whole` functions may lie on removed pages.
    """
    elf, values = section.elf, section.values
    if dt.DT_REL in values or values.get(dt.DT_PLTREL, dt.DT_RELA) != dt.DT_RELA:
        raise ElfError(elf.path, "has relocations without addends, which x86-64 does not have")
    for what, table, size in (
        ("relocations", dt.DT_RELA, dt.DT_RELASZ),
        ("linkage relocations", dt.DT_JMPREL, dt.DT_PLTRELSZ),
    ):
        length = values.get(size, 0)
        if not length:
            continue
        if length % _RELOCATION_BYTES or (
            values.get(dt.DT_RELAENT, _RELOCATION_BYTES) != _RELOCATION_BYTES
        ):
            raise ElfError(elf.path, f"has {what} of another size than {_RELOCATION_BYTES} bytes")
        rows = section.read(what, values.get(table, 0), length).view(RELOCATION)
        kinds = rows["type"]
        _check_named(section, what, rows, symbols, whole)
        slots = rows["slot"]
        if not kinds.all():  # R_X86_64_NONE writes nothing
            slots = slots[kinds != _NONE]
        _check_slots(section, what, slots)
        if not whole:
            continue
        called = kinds == _IRELATIVE
        for array, array_bytes in ARRAYS:
            if array in values:
                begin, end = values[array], values[array] + values.get(array_bytes, 0)
                called |= (kinds == _RELATIVE) & (rows["slot"] >= begin) & (rows["slot"] < end)
        check_code(section, "what loading calls", rows["addend"][called].astype(np.uint64))
    if length := values.get(dt.DT_RELRSZ, 0):
        if length % _WORD_BYTES or values.get(dt.DT_RELRENT, _WORD_BYTES) != _WORD_BYTES:
            raise ElfError(elf.path, "has packed relocations of another size than 8 bytes")
        words = section.read("packed relocations", values.get(dt.DT_RELR, 0), length).view("<u8")
        if words[0] & 1:
            raise ElfError(elf.path, "has packed relocations that begin without an address")
        _check_slots(section, "packed relocations", packed_slots(words))


def _check_named(
    section: DynamicSection,
    what: str,
    rows: NDArray[np.void],
    symbols: NDArray[np.void],
    whole: bool,
) -> None:
    """Check that relocations name existing symbols, which some library defines."""
    path, name, kinds = section.elf.path, rows["symbol"], rows["type"]
    if int(name.max()) >= max(symbols.size, 1):
        raise ElfError(path, f"has {what} for symbols that it does not have")
    # glibc takes their values, zero, from this library and not from another.
    own = (symbols["info"] >> 4 == _LOCAL) | (symbols["other"] & _VISIBILITY != 0)
    nothing = own & (symbols["section"] == 0)
    # Other kinds need no symbol: their value is an address or a number of this library.
    nobodys = (name == 0) & np.isin(kinds, _OF_SYMBOLS)
    if nothing.size:
        nothing[0] = False
        nobodys |= nothing[name]
    if nobodys.any():
        raise ElfError(path, f"has {what} for symbols that nobody defines")
    called = name[kinds == _JUMP_SLOT]
    if whole and called.size:
        own = symbols[np.unique(called)]
        own = own[(own["section"] > 0) & (own["section"] < _FIRST_RESERVED)]
        check_code(section, "a function that it calls", own["value"])


def _check_slots(section: DynamicSection, what: str, slots: NDArray[np.uint64]) -> None:
    flags = section.values.get(_DT_FLAGS, 0)
    anywhere = dt.DT_TEXTREL in section.values or bool(flags & _DF_TEXTREL)
    loads = [s for s in section.elf.loads if s.memory_bytes and (anywhere or s.flags & PF_W)]
    if not slots.size:
        return
    start = np.array([load.address for load in loads] or [0], np.uint64)
    end = np.array([load.address + load.memory_bytes for load in loads] or [0], np.uint64)
    held = np.searchsorted(start, slots, "right").astype(np.int64) - 1
    good = (held >= 0) & (slots < end[held.clip(min=0)])
    if not good.all():
        where = int(slots[~good][0])
        raise ElfError(section.elf.path, f"has {what} that write to {where:#x}, which is read-only")
