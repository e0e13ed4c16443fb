/* The missing entries of a folder at one moment, as entries of getdents64(2). */
#ifndef TRIMTAB_ABSENT_H
#define TRIMTAB_ABSENT_H

#include "index.h"

struct absent {
  const struct folder *folder;
  size_t memory;
  uint64_t device, file; /* the open folder, for the caller that lists it */
  uint32_t next;         /* the next child for `put_absent` */
  uint8_t away[];        /* one per child */
};

/* NULL if nothing is missing, or memory is. */
struct absent *absent_of(const struct folder *folder);
void drop_absent(struct absent *absent);

int is_absent(const struct absent *absent, const char *name);

/* Write the next entries that fit; returns the number of bytes, 0 if none is left, -EINVAL if not
 * even one fits. */
long put_absent(struct absent *absent, uint8_t *to, size_t room);

/* Whether `put_absent` has reached the end. */
int is_told(const struct absent *absent);

/* The kernel's format. */
struct listed {
  uint64_t file;
  int64_t position;
  uint16_t bytes;
  uint8_t type;
  char name[];
};

#endif
