/* What stands for a removed file that is only looked at: a file as large, of the same owner, mode and
 * time, with nothing in it. It becomes the file when that comes back, so that who looked before opens
 * the same file (cp(1) and others compare). Where nothing may be written, the index answers. */
#ifndef TRIMTAB_STAND_IN_H
#define TRIMTAB_STAND_IN_H

#include "calls.h"
#include "walk.h"

/* A file for each, named by the number of its entry; in the overlay likewise. */
#define STAND_INS "trimtab/stand-ins/"

int path_of_stand_in(char to[PATH_BYTES], int in_overlay, const struct entry *entry);

/* Have the file at `walk->here`, which is away, stood for. 0 where it has to be found itself: it came back
 * meanwhile, the program removed it, or it has several names. */
int find_stand_in(struct walk *walk, const struct entry *entry);

/* Whether the walk ended at a file that only the index can tell of; then what a call that LOOKS is
 * answered. */
int is_told_by_index(const struct walk *walk);
long tell(const struct call *call, const long arguments[6], const struct entry *entry);

/* Make a new file as large as the original. */
long make_hollow(const struct entry *entry, long file);

#endif
