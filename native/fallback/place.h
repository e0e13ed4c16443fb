/* The environment that this library lies in, and where its libraries are in memory. */
#ifndef TRIMTAB_PLACE_H
#define TRIMTAB_PLACE_H

#include <limits.h>
#include <stdint.h>

extern char environment_root[PATH_MAX]; /* "" when this library lies in no slim environment */
void find_environment(void);

struct place {
  uint8_t *base;       /* what addresses of the library's file are relative to */
  const char *library; /* its path in the environment; valid until the next call */
};

/* Find the environment's library that `address` lies in; 0 when it lies in none. */
int find_place(const uint8_t *address, struct place *place);

#endif
