/* Python's looks at the sources of modules, of which each import makes two. */
#ifndef TRIMTAB_SOURCE_H
#define TRIMTAB_SOURCE_H

#include "calls.h"
#include "index.h"

/* Answer a call that LOOKS and found nothing: returns whether a removed source is at its path, which
 * the index describes. It has to be a full path without links, `.` and `..`. `entry` is the source
 * that was asked for before. */
int tell_source(const struct call *call, const long arguments[6], struct entry *entry, long *result);

#endif
