/* The environment of this library, and the paths of its libraries. */
#ifndef TRIMTAB_PLACE_H
#define TRIMTAB_PLACE_H

#include <limits.h>
#include <stdint.h>

#include "loaded.h"

extern int environment_known;           /* 0 when this library lies in no slim environment */
extern char environment_root[PATH_MAX]; /* "" for a whole root file system */
void find_environment(void);

struct place {
  uint8_t *base;
  const char *library; /* its path in the environment; valid until the next call */
  uint64_t layout;
};

/* Find a library's path in the environment; 0 if it is outside. The lock is held. */
int find_place(const struct loaded *loaded, struct place *place);

#endif
