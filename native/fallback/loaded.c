/* If a thread holds the lock of dl_iterate_phdr(3) while another one forks, the child waits for the
 * lock for ever, as glibc does not release it there. A child at a miss must not need it. So
 * libraries are found by _dl_find_object(3), which takes no lock (glibc 2.35). Their program
 * headers are read in the linker's own structure, at the offset found for this library. */
#define _GNU_SOURCE
#include "loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

enum {
  NEVER_MAPPED = 1 << 16, /* addresses below are null with an offset */
  LARGEST_LINK_MAP = 1024
};

struct search {
  ElfW(Addr) address;
  struct loaded *loaded;
};

/* FNV-1a by words of 8 bytes, over each segment's place and its length in the file. */
static uint64_t layout_of(const ElfW(Phdr) *headers, size_t count) {
  uint64_t layout = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; i++) {
    layout = (layout ^ headers[i].p_vaddr) * 0x100000001b3;
    layout = (layout ^ headers[i].p_filesz) * 0x100000001b3;
  }
  return layout;
}

/* Compare with the span of an object's segments, holes included: removed code lies in a hole. */
static int holds_address(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  ElfW(Addr) low = (ElfW(Addr))-1, high = 0, at = search->address - info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD) continue;
    if (header->p_vaddr < low) low = header->p_vaddr;
    if (header->p_vaddr + header->p_memsz > high) high = header->p_vaddr + header->p_memsz;
  }
  if (search->address < info->dlpi_addr || at < low || at >= high) return 0;
  *search->loaded = (struct loaded){(uint8_t *)info->dlpi_addr, info->dlpi_name,
                                    layout_of(info->dlpi_phdr, info->dlpi_phnum)};
  return 1;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* The part of the linker's structure after its public part, as far as it is read here. */
struct headers {
  const ElfW(Phdr) *first;
  ElfW(Addr) entry;
  ElfW(Half) count;
};

static int (*find_object)(void *, struct dl_find_object *);
static size_t headers_at; /* in link_map; 0 if unknown */

static const struct headers *headers_of(const struct link_map *map, size_t at) {
  return (const struct headers *)((const char *)map + at);
}

static int find_headers(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  const struct link_map *own = data;
  if (info->dlpi_addr != own->l_addr || strcmp(info->dlpi_name, own->l_name)) return 0;
  for (size_t at = sizeof *own; at < LARGEST_LINK_MAP; at += sizeof(void *))
    if (headers_of(own, at)->first == info->dlpi_phdr &&
        headers_of(own, at)->count == info->dlpi_phnum) {
      headers_at = at;
      break;
    }
  return 1;
}

void learn_linker(void) {
  struct dl_find_object found;
  find_object = (int (*)(void *, struct dl_find_object *))dlsym(RTLD_DEFAULT, "_dl_find_object");
  if (find_object && !find_object((void *)learn_linker, &found))
    dl_iterate_phdr(find_headers, found.dlfo_link_map);
}

static int find_without_lock(const uint8_t *address, struct loaded *loaded) {
  struct dl_find_object found;
  if (!headers_at || find_object((void *)address, &found)) return 0;
  const struct link_map *map = found.dlfo_link_map;
  const struct headers *headers = headers_of(map, headers_at);
  *loaded = (struct loaded){(uint8_t *)map->l_addr, map->l_name,
                            layout_of(headers->first, headers->count)};
  return 1;
}
#else
void learn_linker(void) {}
static int find_without_lock(const uint8_t *address, struct loaded *loaded) {
  (void)address;
  (void)loaded;
  return 0;
}
#endif

/* Only dl_iterate_phdr(3) knows libraries that are being relocated. */
int find_loaded(const uint8_t *address, struct loaded *loaded) {
  struct search search = {(ElfW(Addr))address, loaded};
  if (search.address < NEVER_MAPPED) return 0;
  return (find_without_lock(address, loaded) || dl_iterate_phdr(holds_address, &search)) &&
         *loaded->path;
}
