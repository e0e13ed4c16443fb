/* A removed file, link or folder, and its return to where it was. */
#ifndef TRIMTAB_BRING_BACK_H
#define TRIMTAB_BRING_BACK_H

#include "walk.h"

enum outcome { NOTHING, IN_PLACE, IN_SHADOW, STOOD_FOR };

/* Bring back what was removed at `walk->here`, where nothing is: in its place, or in the overlay where
 * that may not be written; `walk->work` is then a link's text, "" for anything else. It comes
 * back whole, by one process for all. NOTHING where nothing was removed, or the program removed it
 * since. Ends the program with a message where the original is not to be had. A file of which nobody
 * `looks` at more than what it is stays away, STOOD_FOR. */
enum outcome bring_back(struct walk *walk, int looks);

/* Whether this user may use the original as `wanted` (R_OK, W_OK, X_OK), by its owner and mode. */
int may(const struct entry *entry, unsigned wanted);

/* Bring back what a program needs to start. */
void bring_back_needs(const struct entry *program);

/* Open the file that says what is back; and whether an entry is not. */
long open_state(int flags);
int has_state(long state, const struct entry *entry, uint8_t wanted);
int is_away(long state, const struct entry *entry);

/* What making a file takes: one process at a time by either file, and a name until it is whole. */
long open_overlay_guard(void);
void lock(long file);
void unlock(long file);
int is_there(const char *path);
void name_partial(char to[PATH_BYTES], int in_overlay);
void give_attributes(const struct entry *entry, const char *partial);

#endif
