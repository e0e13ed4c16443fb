/* Folders that programs list: behind the kernel's entries come those of what is away. */
#ifndef TRIMTAB_LISTINGS_H
#define TRIMTAB_LISTINGS_H

#include <stdint.h>

/* Answer getdents64(2) of a thread; whether it is answered, with `result`. Else the kernel has to. */
int list_for(long thread, int folder, uint64_t to, uint64_t room, int64_t *result);

#endif
