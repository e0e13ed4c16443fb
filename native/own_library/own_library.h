/* The loaded object that holds an address; dladdr(3) would also search for the nearest symbol. */
#ifndef TRIMTAB_OWN_LIBRARY_H
#define TRIMTAB_OWN_LIBRARY_H

#include <link.h>

static inline int holds(const struct dl_phdr_info *object, const void *address) {
  ElfW(Addr) at = (ElfW(Addr))address - object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = object->dlpi_phdr + i;
    if (header->p_type == PT_LOAD && at - header->p_vaddr < header->p_memsz) return 1;
  }
  return 0;
}

#endif
