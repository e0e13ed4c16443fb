/* The original pages of removed code, and their return to memory. */
#ifndef TRIMTAB_PUT_BACK_H
#define TRIMTAB_PUT_BACK_H

#include <stdint.h>

#include "place.h"

/* A removed function that was called, or GPU code or data that was read. */
struct miss {
  const char *library; /* its path in the environment; null when another thread was faster */
  const char *name;    /* mangled; "" when the original names none */
  const char *near;    /* without a name: a named function before it, or "" */
  uint32_t address;    /* as in the library's file */
  int is_data;         /* neither code nor GPU code */
};

/* Put what was removed at `address` of a library back and fill in `miss`. Returns 0 when nothing was removed
 * there: the fault is the program's own. Ends the program with a message when the original bytes
 * are not to be had. The lock is held. */
int put_back_at(const struct loaded *loaded, uint8_t *address, int executing, struct miss *miss);

#endif
