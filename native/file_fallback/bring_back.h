/* A removed file, link or folder, and its return to where it was. */
#ifndef TRIMTAB_BRING_BACK_H
#define TRIMTAB_BRING_BACK_H

#include "walk.h"

enum outcome { NOTHING, IN_PLACE, IN_SHADOW };

/* Bring back what was removed at `walk->here`, where nothing is: in its place, or in the shadow where
 * that may not be written; `walk->work` is then a link's text, "" for anything else. It comes
 * back whole, by one process for all. NOTHING where nothing was removed, or the program removed it
 * since. Ends the program with a message where the original is not to be had. */
enum outcome bring_back(struct walk *walk);

/* Whether this user may use the original as `wanted` (R_OK, W_OK, X_OK), by its owner and mode. */
int may(const struct entry *entry, unsigned wanted);

/* Bring back what a program needs to start. */
void bring_back_needs(const struct entry *program);

/* Open the file that says what is back; and whether an entry is not. */
long open_state(int flags);
int is_away(long state, const struct entry *entry);

#endif
