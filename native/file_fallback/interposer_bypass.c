#include "interposer_bypass.h"

#include <asm/unistd_64.h>
#include <elf.h>

#include "../go_program/go_program.h"
#include "system.h"

enum { NAME_BYTES = 4096 };

/* Read up to `most` bytes; returns -errno on failure. */
static long read_at(long file, void *to, uint64_t most, uint64_t offset) {
  return offset > INT64_MAX ? 0 : KERNEL(__NR_pread64, file, to, most, offset);
}

static int is_linker_of_glibc(const char *path) {
  const char *name = path;
  for (; *path; path++)
    if (*path == '/') name = path + 1;
  return begins_with(name, "ld-linux");
}

int bypasses_interposer(long file) {
  Elf64_Ehdr header;
  Elf64_Phdr row;
  char linker[NAME_BYTES] = "";
  if (read_at(file, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof row || header.e_phnum == PN_XNUM)
    return 0;
  for (uint64_t i = 0; i < header.e_phnum; i++) {
    if (read_at(file, &row, sizeof row, header.e_phoff + i * sizeof row) != sizeof row) return 0;
    if (row.p_type != PT_INTERP) continue;
    long got = read_at(file, linker, sizeof linker - 1, row.p_offset);
    linker[got > 0 ? got : 0] = 0;
  }
  return !is_linker_of_glibc(linker) || is_of_go(file);
}
