/* Restore the original pages of removed code. */
#ifndef TRIMTAB_PUT_BACK_H
#define TRIMTAB_PUT_BACK_H

#include <stdint.h>

#include "place.h"

/* An access to something removed: a call of a function, or a read of GPU code or data. */
struct miss {
  const char *library; /* its path in the environment; NULL if another thread was faster */
  const char *name;    /* mangled; "" if the original has no name */
  const char *near;    /* without a name: a named function before it, or "" */
  uint32_t address;    /* as in the library's file */
  int is_data;         /* neither code nor GPU code */
};

/* Restore the removed bytes at `address` of a library, and fill in `miss`. Returns 0 if nothing was
 * removed there: the fault is the program's own. Ends the program with a message if the original
 * bytes are not available. The lock is held. */
int put_back_at(const struct loaded *loaded, uint8_t *address, int executing, struct miss *miss);

#endif
