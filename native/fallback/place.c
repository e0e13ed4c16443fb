#define _GNU_SOURCE
#include "place.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../own_library/own_library.h"
#include "open_file.h"

int environment_known;
char environment_root[PATH_MAX];

/* Resolve links; realpath(3) takes a system call for each folder, and may allocate memory. */
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

static int names_us(struct dl_phdr_info *object, size_t bytes, void *name) {
  (void)bytes;
  *(const char **)name = object->dlpi_name;
  return holds(object, (void *)names_us);
}

/* ROOT/trimtab/libtrimtab-fallback.so, whatever link it was loaded by. */
void find_environment(void) {
  const char *name = NULL;
  char path[PATH_MAX];
  if (!dl_iterate_phdr(names_us, &name)) return;
  if (!real_path(name, path, sizeof path) && !realpath(name, path)) return; /* /proc is not there */
  for (int levels = 0; levels < 2; levels++) {
    char *last = strrchr(path, '/');
    if (!last) return;
    *last = 0;
  }
  strcpy(environment_root, path);
  environment_known = 1;
}

/* A program that can no longer see the file, as in a chroot, still has its path. */
int find_place(const struct loaded *loaded, struct place *place) {
  static char path[PATH_MAX];
  size_t root = strlen(environment_root);
  if (!real_path(loaded->path, path, sizeof path))
    snprintf(path, sizeof path, "%s", loaded->path);
  if (strncmp(path, environment_root, root) || path[root] != '/') return 0;
  *place = (struct place){loaded->base, path + root + 1, loaded->layout};
  return 1;
}
