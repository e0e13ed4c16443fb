#define _GNU_SOURCE
#include "place.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open_file.h"

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
  ElfW(Addr) address;
  struct loaded *loaded;
};

/* FNV-1a by words of 8 bytes: where each segment is, and how much of it is in the file. */
static uint64_t layout_of(const ElfW(Phdr) *headers, size_t count) {
  uint64_t layout = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; i++) {
    layout = (layout ^ headers[i].p_vaddr) * 0x100000001b3;
    layout = (layout ^ headers[i].p_filesz) * 0x100000001b3;
  }
  return layout;
}

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
  *search->loaded = (struct loaded){(uint8_t *)info->dlpi_addr, info->dlpi_name,
                                    layout_of(info->dlpi_phdr, info->dlpi_phnum)};
  return 1;
}

/* Without links; realpath(3) may allocate. */
static int real_path(const char *name, char *path, size_t path_bytes) {
  int file = open_file(name, O_PATH);
  if (file < 0) return 0;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, path_bytes - 1);
  close(file);
  if (length <= 0) return 0;
  path[length] = 0;
  return 1;
}

int find_loaded(const uint8_t *address, struct loaded *loaded) {
  struct search search = {(ElfW(Addr))address, loaded};
  return *environment_root && dl_iterate_phdr(holds_address, &search) && *loaded->path;
}

/* A program that may no longer see the file, as in a chroot, still names it by its path. */
int find_place(const struct loaded *loaded, struct place *place) {
  static char path[PATH_MAX];
  size_t root = strlen(environment_root);
  if (!real_path(loaded->path, path, sizeof path))
    snprintf(path, sizeof path, "%s", loaded->path);
  if (strncmp(path, environment_root, root) || path[root] != '/') return 0;
  *place = (struct place){loaded->base, path + root + 1, loaded->layout};
  return 1;
}
