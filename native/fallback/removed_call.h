/* A function that was called although it was removed. */
#ifndef TRIMTAB_REMOVED_CALL_H
#define TRIMTAB_REMOVED_CALL_H

#include <stdint.h>

struct removed_call {
  const char *library;  /* its path in the environment */
  const char *function; /* mangled; "" when the original does not name it */
  uint32_t address;     /* as in the library's file */
};

#endif
