#define _GNU_SOURCE
#include "known_sites.h"

#include <elf.h>

#include "system.h"

const struct known_sites known_sites = {.magic = "TRIMTAB SITES 1"};

const uint8_t *build_id(const struct dl_phdr_info *info) {
  static const char owner[] = "GNU";
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    const uint8_t *at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr), *end = at + header->p_memsz;
    if (header->p_type != PT_NOTE) continue;
    while (end - at > (long)(sizeof(ElfW(Nhdr)) + sizeof owner)) {
      const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
      size_t name_bytes = (note->n_namesz + 3ul) & ~3ul, bytes = (note->n_descsz + 3ul) & ~3ul;
      if (name_bytes + bytes > (size_t)(end - at) - sizeof *note) break;
      const uint8_t *name = at + sizeof *note;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz == BUILD_ID_BYTES &&
          note->n_namesz == sizeof owner && !memcmp(name, owner, sizeof owner))
        return name + name_bytes;
      at = name + name_bytes + bytes;
    }
  }
  return NULL;
}

uint32_t known_places(const struct dl_phdr_info *info, const uint32_t **places) {
  const struct known_sites *known = &known_sites;
  __asm__("" : "+r"(known)); /* it is written after it is compiled */
  const uint8_t *id = known->linker_count || known->library_count ? build_id(info) : NULL;
  uint32_t linker = known->linker_count, library = known->library_count;
  if (!id || linker > MOST_KNOWN || library > MOST_KNOWN - linker) return 0;
  *places = known->places;
  if (!memcmp(id, known->library_id, BUILD_ID_BYTES)) return library;
  *places += library;
  return memcmp(id, known->linker_id, BUILD_ID_BYTES) ? 0 : linker;
}
