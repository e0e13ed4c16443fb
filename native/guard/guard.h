/* A preloaded library that keeps the traced program from switching the tracer off, and the tracer
 * from showing. It stands among the program's own libraries and takes the place of a few
 * functions of the C library. */
#ifndef TRIMTAB_GUARD_H
#define TRIMTAB_GUARD_H

#include "../records/guard_link.h"

#define EXPORT __attribute__((visibility("default")))
/* The function that ours stands before. */
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))next_function(#name)

/* The function of that name in the libraries behind this one. */
void *next_function(const char *name);

/* A SIGTRAP that no watched function caused: the program's own, or sent to it. */
void foreign_trap(int number, void *info, void *context);

#endif
