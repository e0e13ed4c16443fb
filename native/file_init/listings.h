/* Listing folders: missing entries follow the kernel's entries. */
#ifndef TRIMTAB_LISTINGS_H
#define TRIMTAB_LISTINGS_H

#include <stdint.h>

/* Answer getdents64(2) of a thread; returns whether it is answered, with `result`. Otherwise the
 * kernel has to. */
int list_for(long thread, int folder, uint64_t to, uint64_t room, int64_t *result);

#endif
