#include "module.h"

#include <elf.h>
#include <string.h>

#include "../records/kernels.h"
#include "../digest/sha256.h"

/* The section's bytes in the file, or NULL. */
static const uint8_t *section_data(const uint8_t *cubin, size_t bytes, const Elf64_Shdr *section) {
  if (section->sh_offset > bytes || section->sh_size > bytes - section->sh_offset) return NULL;
  return cubin + section->sh_offset;
}

static int names_something(const Elf64_Sym *symbol) {
  int type = ELF64_ST_TYPE(symbol->st_info);
  return symbol->st_shndx != SHN_UNDEF && type != STT_NOTYPE && type != STT_SECTION &&
         type != STT_FILE;
}

static void add_symbols(struct event *event, const uint8_t *cubin, size_t bytes,
                        const Elf64_Shdr *table, const Elf64_Shdr *text) {
  const uint8_t *symbols = section_data(cubin, bytes, table);
  const char *names = (const char *)section_data(cubin, bytes, text);
  if (!symbols || !names || !text->sh_size || names[text->sh_size - 1]) return;
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    memcpy(&symbol, symbols + at, sizeof symbol);
    if (names_something(&symbol) && symbol.st_name < text->sh_size && names[symbol.st_name])
      add_word(event, names + symbol.st_name);
  }
}

static int read_section(const uint8_t *cubin, size_t bytes, const Elf64_Ehdr *header,
                        uint32_t index, Elf64_Shdr *section) {
  if (index >= header->e_shnum || header->e_shentsize != sizeof *section ||
      header->e_shoff > bytes || (index + 1) * sizeof *section > bytes - header->e_shoff)
    return 0;
  memcpy(section, cubin + header->e_shoff + index * sizeof *section, sizeof *section);
  return 1;
}

void record_module(const uint8_t *cubin, size_t bytes) {
  char digest[SHA256_TEXT_BYTES], size[24];
  sha256_text(cubin, bytes, digest);
  snprintf(size, sizeof size, "%zu", bytes);
  struct event event;
  begin_event(&event, "module");
  add_word(&event, digest);
  add_word(&event, size);
  Elf64_Ehdr header;
  if (bytes >= sizeof header && !memcmp(cubin, ELFMAG, SELFMAG)) {
    memcpy(&header, cubin, sizeof header);
    Elf64_Shdr table, text;
    for (uint32_t i = 0; read_section(cubin, bytes, &header, i, &table); i++)
      if (table.sh_type == SHT_SYMTAB &&
          read_section(cubin, bytes, &header, table.sh_link, &text))
        add_symbols(&event, cubin, bytes, &table, &text);
  }
  end_event(&event);
}
