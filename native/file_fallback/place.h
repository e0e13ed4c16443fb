/* The environment that this library lies in, and where what may not be written there comes back
 * instead: a folder of the user's own, its overlay, with the same paths below it. */
#ifndef TRIMTAB_PLACE_H
#define TRIMTAB_PLACE_H

#include "index.h"
#include "system.h"

enum { PATH_BYTES = 4096 };

extern char environment_root[PATH_BYTES]; /* without links; "" for a whole root file system */
extern int is_in_environment;             /* 0 when this library lies in no slim environment */

/* Learn the place from the path by which this library was loaded, and the variables. */
void find_environment(const char *library, char **variables);

/* The value of a variable at the start of the process; NULL without one or an empty one. */
const char *variable(char **variables, const char *name);

/* Whether this process sees the environment where it lies, which it does not in a chroot. */
int sees_environment(void);

/* Where the overlay is, made if need be; ends the program where that is not possible. Whether it is. */
const char *overlay_root(void);
int may_have_overlay(void);

/* Whether it is known, so that an open folder or the working directory may lie in it. */
GENERAL int has_overlay(void);

/* The path below the environment of one that has no links: in it, or in its overlay, as `in_overlay`
 * says; NULL for any other. */
GENERAL const char *path_below(const char *path, int *in_overlay);

/* Write where a path below the environment lies; 0 when it is too long. */
int path_of(char to[PATH_BYTES], int in_overlay, const char *below);

/* A folder of the user's own, in which what cannot be written in the environment is kept: its name; and
 * whether it is there, made if need be, and nobody else may change it. */
void name_own_folder(char to[PATH_BYTES]);
int has_own_folder(void);
int may_write_environment(void);

/* The store that takes the place of the index's, or ""; and where fetched objects are kept. */
extern char chosen_store[PATH_BYTES];
const char *cache_folder(void);
/* Whether nobody else may write in that folder, which is made where it is missing. One that was named may
 * be root's, or a link. Who may write in the environment may have any code run, and its folder is taken. */
int is_own_cache(const char *folder);

#endif
