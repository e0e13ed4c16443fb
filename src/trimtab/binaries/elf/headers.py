"""ELF64 headers: constants, layouts, and a row of either header table.

Names and numbers are from the System V gABI (Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr).
"""

import struct
from dataclasses import dataclass

PAGE_BYTES = 4096
ET_EXEC, ET_DYN = 2, 3
EM_X86_64 = 62
PT_NULL, PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_PHDR = 0, 1, 2, 3, 4, 6
PT_TLS, PT_GNU_EH_FRAME, PT_GNU_RELRO = 7, 0x6474E550, 0x6474E552
PF_X, PF_W, PF_R = 1, 2, 4
SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS, SHT_DYNSYM = 0, 2, 3, 8, 11
SHF_ALLOC, SHF_EXECINSTR = 2, 4
GPU_SECTIONS = {".nv_fatbin", "__nv_relfatbin"}  # where NVIDIA's tools search for GPU code

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True)
class ProgramHeader:
    """A segment: its range in the file and in memory (bytes, Elf64_Phdr)."""

    type: int
    flags: int
    offset: int
    address: int
    physical_address: int
    file_bytes: int
    memory_bytes: int
    alignment: int

    @property
    def end(self) -> int:
        """The file offset past the segment's last byte."""
        return self.offset + self.file_bytes

    def pack(self) -> bytes:
        """Return the 56 bytes of this Elf64_Phdr."""
        return PROGRAM_HEADER.pack(
            self.type,
            self.flags,
            self.offset,
            self.address,
            self.physical_address,
            self.file_bytes,
            self.memory_bytes,
            self.alignment,
        )


@dataclass(frozen=True)
class ElfSection:
    """A section by its header (bytes, Elf64_Shdr)."""

    name: str
    name_offset: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entsize: int

    @property
    def end(self) -> int:
        """The file offset past the section's last byte."""
        return self.offset + (0 if self.type in (SHT_NULL, SHT_NOBITS) else self.size)

    def pack(self) -> bytes:
        """Return the 64 bytes of this Elf64_Shdr."""
        return SECTION_HEADER.pack(
            self.name_offset,
            self.type,
            self.flags,
            self.address,
            self.offset,
            self.size,
            self.link,
            self.info,
            self.alignment,
            self.entsize,
        )
