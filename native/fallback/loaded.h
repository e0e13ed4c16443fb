/* Libraries in the dynamic linker's structures. */
#ifndef TRIMTAB_LOADED_H
#define TRIMTAB_LOADED_H

#include <stdint.h>

struct loaded {
  uint8_t *base;    /* the base of the library's file addresses */
  const char *path; /* the path that it was loaded by */
  uint64_t layout;  /* of its segments */
};

/* Find out whether libraries can be found without the dynamic linker's lock. */
void learn_linker(void);

/* Find the library with `address`; 0 if there is none, or it is the program itself. It may wait for
 * a lock of the dynamic linker, whose holder may fault and wait for ours: our lock must not be
 * held. */
int find_loaded(const uint8_t *address, struct loaded *loaded);

#endif
