#define _GNU_SOURCE
#include "place.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char environment_root[PATH_MAX];

/* ROOT/trimtab/libtrimtab-fallback.so, whatever link it was loaded by. */
void find_environment(void) {
  Dl_info info;
  char path[PATH_MAX];
  if (!dladdr((void *)find_environment, &info) || !realpath(info.dli_fname, path)) return;
  for (int levels = 0; levels < 2; levels++) {
    char *last = strrchr(path, '/');
    if (!last) return;
    *last = 0;
  }
  strcpy(environment_root, path);
}

struct search {
  ElfW(Addr) address, base;
  const char *path;
};

/* By the span of an object's segments, holes included: removed code lies in a hole. */
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
  search->base = info->dlpi_addr;
  search->path = info->dlpi_name;
  return 1;
}

/* Without links; realpath(3) may allocate. */
static int real_path(const char *name, char *path, size_t path_bytes) {
  int file = open(name, O_PATH | O_CLOEXEC);
  if (file < 0) return 0;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, path_bytes - 1);
  close(file);
  if (length <= 0) return 0;
  path[length] = 0;
  return 1;
}

int find_place(const uint8_t *address, struct place *place) {
  static char path[PATH_MAX];
  struct search search = {(ElfW(Addr))address, 0, ""};
  size_t root = strlen(environment_root);
  if (!root || !dl_iterate_phdr(holds_address, &search)) return 0;
  if (!*search.path || !real_path(search.path, path, sizeof path)) return 0;
  if (strncmp(path, environment_root, root) || path[root] != '/') return 0;
  *place = (struct place){(uint8_t *)search.base, path + root + 1};
  return 1;
}
