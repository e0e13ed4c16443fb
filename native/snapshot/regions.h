/* The memory of this process, as /proc/self/smaps tells of it. */
#ifndef TRIMTAB_SNAPSHOT_REGIONS_H
#define TRIMTAB_SNAPSHOT_REGIONS_H

#include <stdint.h>

enum { TEXT_BYTES = 32 << 20 };

struct region {
  uint64_t begin, end, offset, inode;
  int protection, is_shared, advice;
  const char *name;
};

/* Read a file of less than `room` bytes; returns how many, or -1. */
long read_all(const char *path, char *to, long room);

/* Read the number at `text`, and go on behind it. */
uint64_t decimal(const char **text);

/* Read the lines that are of one region, whose name ends with a zero then; returns what follows them. */
char *read_region(char *line, struct region *to);

#endif
