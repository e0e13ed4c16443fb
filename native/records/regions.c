#define _GNU_SOURCE
#include "regions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#define WRAPPER_MAGIC 0x466243b1u
#define REGION_MAGIC 0xba55ed50u

struct wrapper {
  uint32_t magic, version;
  const void *region;
};

static uint32_t magic_of(const void *image) {
  uint32_t magic;
  memcpy(&magic, image, sizeof magic);
  return magic;
}

/* "OFFSET:PATH" for an address mapped from a file; the caller frees it. */
static char *place_in_file(const void *address) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char *line = NULL, *place = NULL;
  size_t room = 0;
  while (maps && !place && getline(&line, &room, maps) > 0) {
    unsigned long start, end, offset, at = (unsigned long)address;
    int path = 0;
    if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &start, &end, &offset, &path) < 3) continue;
    if (at < start || at >= end) continue;
    line[strcspn(line, "\n")] = 0;
    if (!path || line[path] != '/') break;
    if (asprintf(&place, "%lx:%s", at - start + offset, line + path) < 0) place = NULL;
  }
  free(line);
  if (maps) fclose(maps);
  return place;
}

void record_region(const void *image) {
  struct wrapper wrapper;
  if (!image) return;
  if (magic_of(image) == WRAPPER_MAGIC) {
    memcpy(&wrapper, image, sizeof wrapper);
    image = wrapper.region;
  }
  if (!image || magic_of(image) != REGION_MAGIC) return;
  char *place = place_in_file(image);
  if (place) record("region", place);
  free(place);
}
