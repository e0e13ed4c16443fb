/* The environment that this library lies in, and which of its libraries is which. */
#ifndef TRIMTAB_PLACE_H
#define TRIMTAB_PLACE_H

#include <limits.h>
#include <stdint.h>

#include "loaded.h"

extern int environment_known;           /* 0 when this library lies in no slim environment */
extern char environment_root[PATH_MAX]; /* "" when that is a whole root file system */
void find_environment(void);

struct place {
  uint8_t *base;
  const char *library; /* its path in the environment; valid until the next call */
  uint64_t layout;
};

/* Find where in the environment a library lies; 0 when it does not lie in it. The lock is held. */
int find_place(const struct loaded *loaded, struct place *place);

#endif
