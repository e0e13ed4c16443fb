/* The dynamic symbols of a loaded object, by their names (DT_GNU_HASH). */
#ifndef TRIMTAB_SYMBOLS_H
#define TRIMTAB_SYMBOLS_H

#include <link.h>
#include <stdint.h>

struct symbols {
  const ElfW(Sym) *rows;
  const char *names;
  const uint32_t *hash;
};

/* In an object that the linker has not relocated, such as the vDSO, addresses are relative. */
static inline const void *address_in(const struct dl_phdr_info *info, ElfW(Addr) value) {
  return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static inline int find_symbols(const struct dl_phdr_info *info, struct symbols *symbols) {
  *symbols = (struct symbols){0};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const ElfW(Dyn) *row = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; row->d_tag != DT_NULL; row++) {
      const void *at = address_in(info, row->d_un.d_ptr);
      if (row->d_tag == DT_SYMTAB) symbols->rows = at;
      if (row->d_tag == DT_STRTAB) symbols->names = at;
      if (row->d_tag == DT_GNU_HASH) symbols->hash = at;
    }
  }
  return symbols->rows && symbols->names && symbols->hash;
}

/* The symbols of a name, which may have several versions: 0 at first as `*next`; NULL after the
 * last one. */
static inline const ElfW(Sym) *symbol_named(const struct symbols *symbols, const char *name,
                                            uint32_t *next) {
  uint32_t hash = 5381;
  for (const char *at = name; *at; at++) hash = hash * 33 + (uint8_t)*at;
  uint32_t buckets = symbols->hash[0], first = symbols->hash[1], words = symbols->hash[2];
  const uint32_t *bucket = symbols->hash + 4 + words * 2, *chain = bucket + buckets;
  uint32_t at = *next ? *next : bucket[hash % buckets];
  if (*next && chain[at - 1 - first] & 1) return NULL;
  for (; at && at >= first; at++) {
    const char *a = symbols->names + symbols->rows[at].st_name, *b = name;
    if ((chain[at - first] | 1) == (hash | 1)) {
      while (*a && *a == *b) a++, b++;
      if (*a == *b) {
        *next = at + 1;
        return symbols->rows + at;
      }
    }
    if (chain[at - first] & 1) return NULL;
  }
  return NULL;
}

#endif
