#include "unheard.h"

#include <asm/unistd_64.h>
#include <elf.h>

#include "system.h"

enum { TABLE_BYTES = 1 << 16, NOTE_BYTES = 1 << 16, NAME_BYTES = 4096, GO_BYTES = 4 };

static const char note_of_go[GO_BYTES] = "Go\0", section_of_go[] = ".go.buildinfo";

/* As many bytes as are there, up to `most`; -errno. */
static long read_at(long file, void *to, uint64_t most, uint64_t offset) {
  if (offset > INT64_MAX) return 0;
  return KERNEL(__NR_pread64, file, to, most, offset);
}

static int is_linker_of_glibc(const char *path) {
  const char *name = path;
  for (; *path; path++)
    if (*path == '/') name = path + 1;
  return begins_with(name, "ld-linux");
}

static uint64_t padded(uint32_t bytes) { return ((uint64_t)bytes + 3) / 4 * 4; }

/* Of a note: the bytes of its name, those of its text, its type. */
static int has_note_of_go(const uint8_t *notes, uint64_t bytes) {
  Elf64_Nhdr note;
  for (uint64_t at = 0; at + sizeof note + GO_BYTES <= bytes;) {
    memcpy(&note, notes + at, sizeof note);
    at += sizeof note;
    if (note.n_namesz == GO_BYTES && !memcmp(notes + at, note_of_go, GO_BYTES)) return 1;
    at += padded(note.n_namesz) + padded(note.n_descsz);
  }
  return 0;
}

/* Whether a row of the program headers says so; `has_linker` is set where one asks for glibc's linker. */
static int is_of_go_by(const Elf64_Phdr *row, long file, uint8_t *room, int *has_linker) {
  uint64_t most = row->p_type == PT_INTERP ? NAME_BYTES - 1 : NOTE_BYTES;
  if (row->p_type != PT_INTERP && row->p_type != PT_NOTE) return 0;
  long got = read_at(file, room, row->p_filesz < most ? row->p_filesz : most, row->p_offset);
  if (got <= 0) return 0;
  if (row->p_type == PT_NOTE) return has_note_of_go(room, (uint64_t)got);
  room[got] = 0;
  *has_linker = is_linker_of_glibc((const char *)room);
  return 0;
}

/* Whether one section has the name of Go's build information, as without a build ID. */
static int has_section_of_go(const Elf64_Ehdr *header, long file, uint8_t *table, uint8_t *names) {
  Elf64_Shdr row, text;
  if (header->e_shentsize != sizeof row || header->e_shstrndx >= header->e_shnum) return 0;
  uint64_t rows = (uint64_t)read_at(file, table, TABLE_BYTES, header->e_shoff) / sizeof row;
  if (rows > TABLE_BYTES / sizeof row || header->e_shstrndx >= rows) return 0;
  memcpy(&text, table + header->e_shstrndx * sizeof text, sizeof text);
  long got = read_at(file, names, text.sh_size < NOTE_BYTES ? text.sh_size : NOTE_BYTES, text.sh_offset);
  for (uint64_t i = 0; i < rows && i < header->e_shnum; i++) {
    memcpy(&row, table + i * sizeof row, sizeof row);
    if (got > 0 && row.sh_name + sizeof section_of_go <= (uint64_t)got &&
        !memcmp(names + row.sh_name, section_of_go, sizeof section_of_go))
      return 1;
  }
  return 0;
}

int is_unheard(long file) {
  Elf64_Ehdr header;
  Elf64_Phdr row;
  int has_linker = 0, of_go = 0;
  if (read_at(file, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof row || header.e_phnum == PN_XNUM)
    return 0;
  uint8_t *room = new_memory(TABLE_BYTES + NOTE_BYTES);
  if (!room) return 0;
  for (uint64_t i = 0; i < header.e_phnum && !of_go; i++) {
    if (read_at(file, &row, sizeof row, header.e_phoff + i * sizeof row) != sizeof row) break;
    of_go = is_of_go_by(&row, file, room, &has_linker);
  }
  of_go = of_go || has_section_of_go(&header, file, room, room + TABLE_BYTES);
  drop_memory(room, TABLE_BYTES + NOTE_BYTES);
  return of_go || !has_linker;
}
