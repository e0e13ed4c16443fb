"""Check that only a library's start-up code ran, and that others could not notice it.

There are four ways into a library: constructors and destructors, which the dynamic linker calls;
exported functions; exported data, such as virtual function tables; and pointers that it passes to
other libraries. If only the first way was used and the last two are impossible, nobody notices a
library that is not initialized.
"""

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.functions import Functions
from trimtab.binaries.elf.headers import SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS, ElfSection
from trimtab.binaries.elf.imports import imported_names
from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import RELOCATION, SYMBOL, symbol_name, table_rows
from trimtab.binaries.rewriting.locate import LINKAGE_SECTIONS

SHF_WRITE, SHF_TLS = 1, 0x400
_NOTYPE, _GNU_IFUNC, _SECTION, _FILE = 0, 10, 3, 4
_IRELATIVE = 37
_RELOCATIONS = {4, 9}  # SHT_RELA, SHT_REL
_UNDEFINED, _FIRST_RESERVED = 0, 0xFF00
_LINKER_NAMES = {"__bss_start", "_edata", "_end"}  # ends of sections, which nobody reads
# Functions and variables of the C and C++ run time that keep no reference into the library, except
# for calls at its own end (atexit), and have no effects visible to others. Functions that start
# threads, handle signals, load libraries or set the environment are not listed.
_HARMLESS_NAMES = """
    __cxa_atexit __cxa_finalize atexit __gmon_start__
    _ITM_registerTMCloneTable _ITM_deregisterTMCloneTable
    __stack_chk_fail __errno_location __tls_get_addr
    _Unwind_Resume __gxx_personality_v0 __cxa_pure_virtual __cxa_begin_catch __cxa_end_catch
    __cxa_rethrow __cxa_allocate_exception __cxa_free_exception __cxa_throw
    __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort
    malloc calloc realloc free aligned_alloc posix_memalign
    _Znwm _Znam _ZdlPv _ZdlPvm _ZdaPv _ZdaPvm
    memcpy memmove memset memcmp memchr strlen strcmp strncmp strcpy strncpy strcat strchr strrchr
    strstr strdup strtol strtoul strtoll strtoull
    wcslen wmemset wmemcpy btowc wctob mbsrtowcs
    __newlocale __freelocale __uselocale __nl_langinfo_l __wctype_l
    stdin stdout stderr fflush getenv dlclose
    pthread_once __pthread_key_create
    pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_unlock
    pthread_mutexattr_init pthread_mutexattr_destroy pthread_mutexattr_settype
    pthread_mutexattr_setpshared
    pthread_rwlock_init pthread_rwlock_destroy pthread_rwlockattr_init pthread_rwlockattr_destroy
    pthread_rwlockattr_setpshared
    pthread_cond_init pthread_cond_destroy
    _ZNSt8ios_base4InitC1Ev _ZNSt8ios_base4InitD1Ev
    _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_
    _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base
    _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base
    _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm
    _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm
    _ZSt17__throw_bad_allocv _ZSt28__throw_bad_array_new_lengthv
    _ZSt19__throw_logic_errorPKc _ZSt20__throw_length_errorPKc _ZSt20__throw_out_of_rangePKc
    _ZSt24__throw_out_of_range_fmtPKcz
"""
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
_HARMLESS_PREFIXES = (
    "_ZNSt7__cxx1112basic_string",  # std::string
    "_ZNKSt7__cxx1112basic_string",
    "_ZTVN10__cxxabiv1",  # parts of type information
)


def why_started(elf: Elf, functions: Functions, used: NDArray[np.bool_]) -> str:
    """Return why `elf` must be initialized, or "" if only its start-up code ran.

    `used` (bool, shape (n,)) marks the functions that ran, not those that they may reach. The
    answer holds for these runs: if a variable makes the start-up load the driver, register with
    another library or start a thread, a run must have had it set.
    """
    if elf.has_text_relocations or not elf.sections or functions.reason:
        return "its code cannot be told apart"
    if elf.section(".dynsym") is None or not _has_usual_relocations(elf):
        return "its symbols and relocations are not where they usually are"
    ran = functions.start[used].astype(np.int64)
    reason = _why_by_exports(elf, functions.start.astype(np.int64), ran)
    if reason:
        return reason
    names = imported_names(elf, functions, used & ~_in_linkage(elf, functions))
    for name in sorted(names - _HARMLESS):
        if not name.startswith(_HARMLESS_PREFIXES):
            return f"its start-up code uses {name}"
    return ""


def _has_usual_relocations(elf: Elf) -> bool:
    tables = {s.name for s in elf.sections if s.flags & SHF_ALLOC and s.type in _RELOCATIONS}
    return tables <= {".rela.dyn", ".rela.plt"}


def exported_data(elf: Elf) -> list[tuple[int, int]]:
    """Return [start, end) of the data that `elf` exports to others, as virtual addresses."""
    symbols = _exported(elf)
    start, size = symbols["value"].astype(np.int64), symbols["size"].astype(np.int64)
    data = [
        (low, low + length)
        for low, length in zip(start.tolist(), size.tolist(), strict=True)
        if (section := section_at(elf, low)) is not None and not section.flags & SHF_EXECINSTR
    ]
    return sorted(data)


def section_at(elf: Elf, address: int) -> ElfSection | None:
    """Return the section at a virtual address, or None."""
    return next(
        (s for s in elf.sections if s.address and s.address <= address < s.address + s.size), None
    )


def _exported(elf: Elf) -> NDArray[np.void]:
    symbols = table_rows(elf, ".dynsym", SYMBOL)
    index, kind = symbols["section"], symbols["info"] & 0xF
    own = (index != _UNDEFINED) & (index < _FIRST_RESERVED)
    exported: NDArray[np.void] = symbols[own & (kind != _SECTION) & (kind != _FILE)]
    return exported


def _why_by_exports(elf: Elf, starts: NDArray[np.int64], ran: NDArray[np.int64]) -> str:
    """Return why the exports of `elf` may be in use, or ""."""
    kinds = table_rows(elf, ".rela.dyn", RELOCATION)["type"]
    plt_kinds = table_rows(elf, ".rela.plt", RELOCATION)["type"]
    if (kinds == _IRELATIVE).any() or (plt_kinds == _IRELATIVE).any():
        return "it chooses functions while it is loaded"
    functions, used = set(starts.tolist()), set(ran.tolist())
    for symbol in _exported(elf):
        address, name = int(symbol["value"]), symbol_name(elf, int(symbol["name"]))
        kind, section = int(symbol["info"]) & 0xF, section_at(elf, address)
        if kind == _GNU_IFUNC:
            return "it chooses functions while it is loaded"
        if name in _LINKER_NAMES and kind == _NOTYPE:
            continue
        if section is None or section.flags & (SHF_WRITE | SHF_TLS) or section.type == SHT_NOBITS:
            return f"it exports the variable {name}"
        if section.flags & SHF_EXECINSTR:
            if address in used:
                return f"{name} was called"
            if address not in functions and section.name not in LINKAGE_SECTIONS:
                return f"calls of {name} are not traced"
        elif not symbol["size"]:
            return f"it exports data of unknown size: {name}"
    return ""


def _in_linkage(elf: Elf, functions: Functions) -> NDArray[np.bool_]:
    """Return which functions are linkage stubs: one unwind entry covers all of them."""
    start = functions.start.astype(np.int64)
    inside = np.zeros(start.shape, bool)
    for section in elf.sections:
        if section.name in LINKAGE_SECTIONS:
            inside |= (start >= section.address) & (start < section.address + section.size)
    return inside
