/* A stand-in for a removed file that is only looked up: an empty file of the same size, owner, mode
 * and time. It becomes the file when that is restored, so that a program that looked before opens
 * the same file (cp(1) and others compare). The index answers instead if nothing may be written, and
 * where Python asks for a source: each import does, and compares nothing. */
#ifndef TRIMTAB_STAND_IN_H
#define TRIMTAB_STAND_IN_H

#include "calls.h"
#include "walk.h"

/* A file for each, named by its entry number; the same in the overlay. */
#define STAND_INS "trimtab/stand-ins/"

int path_of_stand_in(char to[PATH_BYTES], int in_overlay, const struct entry *entry);

/* Provide a stand-in for the removed file at `walk->here`. Returns 0 if the file itself has to be
 * found: it was restored meanwhile, the program removed it, or it has several names. */
int find_stand_in(struct walk *walk, const struct entry *entry);

/* Whether the program that asks is Python. Each side that includes this has its own answer. */
GENERAL int is_asked_by_python(void);

/* Whether a path ends as one of a source of Python. */
GENERAL int names_source(const char *path);

/* Whether the program is Python and the entry a source, so that the index answers. */
int is_told_to_python(const struct entry *entry);

/* Whether a file came back that no stand-in was made of: in its place, or in the overlay. */
int is_back_anywhere(const struct entry *entry);

/* Whether the walk ended at a file that only the index can describe; then the index answers calls
 * that LOOK. */
int is_told_by_index(const struct walk *walk);
long tell(const struct call *call, const long arguments[6], const struct entry *entry);

/* Make a new sparse file of the original's size. */
long make_hollow(const struct entry *entry, long file);

#endif
