/* Listing folders: removed entries are in the list, though not in the folder. */
#ifndef TRIMTAB_LISTING_H
#define TRIMTAB_LISTING_H

#include "walk.h"

/* Whether `list_folder` has to make a call of getdents64(2) for an open folder. */
GENERAL int asks_for_removed(long folder);

/* As getdents64(2): the kernel's entries, followed by the missing ones. */
long list_folder(struct walk *walk, long folder, uint8_t *to, size_t room);

/* Restore one child of a folder that is about to be removed, so that it is not empty. */
void keep_from_removal(const char *below);

/* Restore everything that was removed from a folder and its subfolders. */
void bring_back_below(const char *below);

/* Leave the file out of the next list that has it: `site` has run it, and lists its folder again. */
void hide_once(const char *name);

#endif
