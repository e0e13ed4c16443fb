/* The environment that this library lies in, and where its libraries are in memory. */
#ifndef TRIMTAB_PLACE_H
#define TRIMTAB_PLACE_H

#include <limits.h>
#include <stdint.h>

extern char environment_root[PATH_MAX]; /* "" when this library lies in no slim environment */
void find_environment(void);

/* A library as the dynamic linker has it. */
struct loaded {
  uint8_t *base;    /* what addresses of the library's file are relative to */
  const char *path; /* by which it was loaded */
  uint64_t layout;  /* of its segments */
};

struct place {
  uint8_t *base;
  const char *library; /* its path in the environment; valid until the next call */
  uint64_t layout;
};

/* Find the library that `address` lies in; 0 when it lies in none. It waits for a lock of the
 * dynamic linker, of which a holder may fault and wait for ours: the lock is not held. */
int find_loaded(const uint8_t *address, struct loaded *loaded);

/* Find where in the environment a library lies; 0 when it does not lie in it. The lock is held. */
int find_place(const struct loaded *loaded, struct place *place);

#endif
