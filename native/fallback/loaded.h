/* Libraries as the dynamic linker has them. */
#ifndef TRIMTAB_LOADED_H
#define TRIMTAB_LOADED_H

#include <stdint.h>

struct loaded {
  uint8_t *base;    /* what addresses of the library's file are relative to */
  const char *path; /* by which it was loaded */
  uint64_t layout;  /* of its segments */
};

/* Find out whether libraries can be looked up without the dynamic linker's lock. */
void learn_linker(void);

/* Find the library that `address` lies in; 0 when it lies in none, or in the program itself. It may
 * wait for a lock of the dynamic linker, of which a holder may fault and wait for ours: the lock is
 * not held. */
int find_loaded(const uint8_t *address, struct loaded *loaded);

#endif
