#include "mapped.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path of an executable mapping, without the end of its line; NULL for any other. */
static const char *executable_path(char *line) {
  char *permissions = strchr(line, ' '), *path = strchr(line, '/');
  if (!permissions || !path || permissions[3] != 'x') return NULL;
  path[strcspn(path, "\n")] = 0;
  return path;
}

/* stat(2) of a file by its name in the list of mappings: the list writes a newline as \012, and
 * does not escape these four characters themselves. */
static int stat_listed(const char *listed, struct stat *status) {
  if (!stat(listed, status)) return 0;
  char path[PATH_MAX], *end = path;
  for (const char *at = listed; *at && end < path + sizeof path - 1; end++) {
    int is_end = !strncmp(at, "\\012", 4);
    *end = is_end ? '\n' : *at;
    at += is_end ? 4 : 1;
  }
  *end = 0;
  return stat(path, status);
}

void note_mapped(void) {
  const char *record = getenv("TRIMTAB_MAPPED_RECORD");
  FILE *maps = record ? fopen("/proc/self/maps", "re") : NULL;
  if (!maps) return;
  int file = open(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  char *line = NULL, last[PATH_MAX] = "";
  size_t line_bytes = 0;
  while (file >= 0 && getline(&line, &line_bytes, maps) > 0) {
    const char *path = executable_path(line);
    struct stat status;
    /* A library's mappings are adjacent. The numbers in the list can differ from stat(2)'s, as on
     * overlayfs; others compare stat's. */
    if (!path || !strcmp(path, last) || stat_listed(path, &status)) continue;
    snprintf(last, sizeof last, "%s", path);
    dprintf(file, "%d\t%lu\t%lu\t%s\n", (int)getpid(), (unsigned long)status.st_dev,
            (unsigned long)status.st_ino, path);
  }
  free(line);
  if (file >= 0) close(file);
  fclose(maps);
}
