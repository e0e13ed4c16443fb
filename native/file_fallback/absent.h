/* What is away of a folder at one moment, as entries of getdents64(2). */
#ifndef TRIMTAB_ABSENT_H
#define TRIMTAB_ABSENT_H

#include "index.h"

struct absent {
  const struct folder *folder;
  size_t memory;
  uint64_t device, file; /* which open folder it is of, for who lists by it */
  uint32_t next;         /* of the children that `put_absent` comes to */
  uint8_t away[];        /* one a child */
};

/* NULL where nothing is away, or there is no memory. */
struct absent *absent_of(const struct folder *folder);
void drop_absent(struct absent *absent);

int is_absent(const struct absent *absent, const char *name);

/* The next entries that have room; the number of bytes, 0 where none is left, -EINVAL without room for one. */
long put_absent(struct absent *absent, uint8_t *to, size_t room);

/* Whether `put_absent` has come to the end. */
int is_told(const struct absent *absent);

/* What the kernel puts out. */
struct listed {
  uint64_t file;
  int64_t position;
  uint16_t bytes;
  uint8_t type;
  char name[];
};

#endif
