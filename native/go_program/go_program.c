#include "go_program.h"

#include <asm/unistd_64.h>
#include <elf.h>
#include <stdint.h>

#include "../kernel_call/kernel_call.h"

enum { MOST_SECTIONS = 4096, MOST_NOTES = 64, GO_BYTES = 4, GO = 0x6f47 /* "Go", little-endian */ };

static int read_whole(long file, void *to, long bytes, uint64_t offset) {
  return offset <= INT64_MAX && kernel(__NR_pread64, file, (long)to, bytes, (long)offset, 0, 0) == bytes;
}

static uint64_t padded(uint32_t bytes) { return ((uint64_t)bytes + 3) / 4 * 4; }

static int has_note(long file, const Elf64_Phdr *row) {
  struct {
    Elf64_Nhdr header;
    uint32_t name;
  } note;
  uint64_t at = row->p_offset, end = at + row->p_filesz;
  for (int i = 0; i < MOST_NOTES && at < end && read_whole(file, &note, sizeof note, at); i++) {
    if (note.header.n_namesz == GO_BYTES && note.name == GO) return 1;
    at += sizeof note.header + padded(note.header.n_namesz) + padded(note.header.n_descsz);
  }
  return 0;
}

static int has_section(long file, const Elf64_Ehdr *header) {
  static const char name[] = ".go.buildinfo";
  Elf64_Shdr names, row;
  char found[sizeof name];
  if (header->e_shentsize != sizeof row || header->e_shstrndx >= header->e_shnum ||
      header->e_shnum > MOST_SECTIONS ||
      !read_whole(file, &names, sizeof names, header->e_shoff + header->e_shstrndx * sizeof row))
    return 0;
  for (uint64_t i = 0; i < header->e_shnum; i++) {
    if (!read_whole(file, &row, sizeof row, header->e_shoff + i * sizeof row)) return 0;
    if (!read_whole(file, found, sizeof found, names.sh_offset + row.sh_name)) continue;
    unsigned at = 0;
    while (at < sizeof name && found[at] == name[at]) at++;
    if (at == sizeof name) return 1;
  }
  return 0;
}

int is_of_go(long file) {
  Elf64_Ehdr header;
  Elf64_Phdr row;
  if (!read_whole(file, &header, sizeof header, 0) || header.e_ident[EI_MAG0] != ELFMAG0 ||
      header.e_ident[EI_MAG1] != ELFMAG1 || header.e_ident[EI_MAG2] != ELFMAG2 ||
      header.e_ident[EI_MAG3] != ELFMAG3 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof row || header.e_phnum == PN_XNUM)
    return 0;
  for (uint64_t i = 0; i < header.e_phnum; i++) {
    if (!read_whole(file, &row, sizeof row, header.e_phoff + i * sizeof row)) return 0;
    if (row.p_type == PT_NOTE && has_note(file, &row)) return 1;
  }
  return has_section(file, &header);
}
