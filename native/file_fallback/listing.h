/* Folders that a program lists: what was removed from them is in the list, though not in them. */
#ifndef TRIMTAB_LISTING_H
#define TRIMTAB_LISTING_H

#include "walk.h"

/* Whether a call of getdents64(2) for an open folder is to be made by `list_folder`. */
GENERAL int asks_for_removed(long folder);

/* As getdents64(2): the kernel's entries, and then those of what is away. */
long list_folder(struct walk *walk, long folder, uint8_t *to, size_t room);

/* Bring back one child of a folder that is about to be removed, as it is not empty. */
void keep_from_removal(const char *below);

/* Bring back all that was removed from a folder, and from folders there. */
void bring_back_below(const char *below);

#endif
