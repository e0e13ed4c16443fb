/* Restore a removed file, link or folder. */
#ifndef TRIMTAB_BRING_BACK_H
#define TRIMTAB_BRING_BACK_H

#include "walk.h"

enum outcome { NOTHING, IN_PLACE, IN_OVERLAY, STOOD_FOR };

/* Restore what was removed at `walk->here`, which does not exist: in its place, or in the overlay if
 * that is not writable; `walk->work` is then a link's text, otherwise "". One process restores it
 * for all, atomically. Returns NOTHING if nothing was removed, or the program has removed it since.
 * Ends the program with a message if the original is not available. With `looks`, a file may get a
 * stand-in instead: STOOD_FOR. */
enum outcome bring_back(struct walk *walk, int looks);

/* Whether this user may access the original as `wanted` (R_OK, W_OK, X_OK), by its owner and
 * mode. */
int may(const struct entry *entry, unsigned wanted);

/* Restore what a program needs to start. */
void bring_back_needs(const struct entry *program);

/* Open the file with the states of entries; and whether an entry is not restored. */
long open_state(int flags);
int has_state(long state, const struct entry *entry, uint8_t wanted);
int is_away(long state, const struct entry *entry);

/* For making a file: a lock on the state or on the overlay's guard, and a temporary name. */
long open_overlay_guard(void);
void lock(long file);
void unlock(long file);
int is_there(const char *path);
void name_partial(char to[PATH_BYTES], int in_overlay);
void give_attributes(const struct entry *entry, const char *partial);

#endif
