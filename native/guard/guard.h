/* A preloaded library that prevents the traced program from disabling the tracer or noticing it. It
 * is one of the program's own libraries and replaces a few functions of the C library. */
#ifndef TRIMTAB_GUARD_H
#define TRIMTAB_GUARD_H

#include "../records/guard_link.h"

#define EXPORT __attribute__((visibility("default")))
/* The function that ours replaces. */
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))next_function(#name)

/* The function of that name in the libraries after this one. */
void *next_function(const char *name);

/* A SIGTRAP without a watched function: the program's own, or sent to it. */
void foreign_trap(int number, void *info, void *context);

#endif
