/* Folders that a program lists: what was removed from them is in the list, though not in them. */
#ifndef TRIMTAB_LISTING_H
#define TRIMTAB_LISTING_H

#include "system.h"

/* Whether entries have to follow where the kernel returned `result` for getdents64(2): at the end of
 * its own. */
GENERAL int asks_for_removed(long folder, long result);

/* What getdents64(2) returns then: the entries of what is away. */
long list_removed(long folder, void *to, unsigned long room);

/* Bring back one child of a folder that is about to be removed, as it is not empty. */
void keep_from_removal(const char *below);

/* Bring back all that was removed from a folder, and from folders there. */
void bring_back_below(const char *below);

#endif
