"""Add a library that the dynamic linker loads with another one, if it finds it.

A DT_AUXILIARY entry of the dynamic section names it. It is initialized before the library; if it is
missing, the library is loaded without it. Linkers ignore the entry.
"""

import os
import struct
from pathlib import Path

from trimtab.binaries.elf.headers import PAGE_BYTES, PROGRAM_HEADER, PT_DYNAMIC, PT_LOAD
from trimtab.binaries.elf.reader import Elf, read_elf

_DT_NULL, _DT_STRTAB = 0, 5
_DT_RELACOUNT = 0x6FFFFFF9
_DT_AUXILIARY = 0x7FFFFFFD
_ENTRY = struct.Struct("<qQ")
# Older versions of glibc initialize such a library without relocating it, if a program loads the
# other one by dlopen(3) (its bug 16272).
_SOUND_SINCE = (2, 32)


def add_dt_auxiliary(slim: Path, original: Elf, name: str) -> bool:
    """Let the compacted library `slim` load `name`, which may begin with `$ORIGIN/`.

    The name goes to the old place of the program headers in the first page. The entry replaces a
    spare one, or an optional hint (`DT_RELACOUNT`). Returns False, with the file unchanged, if
    there is no room or the system's dynamic linker is too old.
    """
    elf, text = read_elf(slim), os.fsencode(name) + b"\0"
    room, room_bytes = original.program_header_offset, len(original.segments) * PROGRAM_HEADER.size
    free = elf.program_header_offset != room and room + room_bytes <= PAGE_BYTES
    if not free or len(text) > room_bytes or not linker_is_sound():
        return False
    holder = next((s for s in elf.segments if s.type == PT_LOAD and s.offset <= room < s.end), None)
    place = _place_of_entry(elf)
    if holder is None or room + len(text) > holder.end or place is None:
        return False
    offset, names = place
    # A name is an offset from the string table, which may be negative.
    distance = (holder.address + room - holder.offset - names) % (1 << 64)
    with slim.open("r+b") as file:
        file.seek(room)
        file.write(text)
        file.seek(offset)
        file.write(_ENTRY.pack(_DT_AUXILIARY, distance))
    return True


def _place_of_entry(elf: Elf) -> tuple[int, int] | None:
    """Return the file offset of a replaceable entry, and the string table's address."""
    dynamic = next((s for s in elf.segments if s.type == PT_DYNAMIC), None)
    if dynamic is None:
        return None
    table = elf.data[dynamic.offset : dynamic.offset + dynamic.file_bytes // 16 * 16].tobytes()
    tags = [tag for tag, _ in _ENTRY.iter_unpack(table)]
    values = dict(_ENTRY.iter_unpack(table))
    if _DT_NULL not in tags or _DT_STRTAB not in values:
        return None
    end = tags.index(_DT_NULL)
    # Bytes after the end must not become part of the section.
    if tags[end + 1 : end + 2] != [_DT_NULL]:
        if _DT_RELACOUNT not in tags[:end]:
            return None
        end = tags.index(_DT_RELACOUNT)
    return dynamic.offset + end * _ENTRY.size, values[_DT_STRTAB]


def linker_is_sound() -> bool:
    """Whether this system's dynamic linker initializes auxiliaries correctly: glibc >= 2.32."""
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    numbers = version.split(".")
    return name == "glibc" and tuple(int(number) for number in numbers[:2]) >= _SOUND_SINCE
