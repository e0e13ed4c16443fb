/* The environment of this library, and its overlay: a folder of the user's own with the same
 * relative paths. Files that cannot be written to the environment are restored in the overlay. */
#ifndef TRIMTAB_PLACE_H
#define TRIMTAB_PLACE_H

#include "index.h"
#include "system.h"

enum { PATH_BYTES = 4096 };

extern char environment_root[PATH_BYTES]; /* without links; "" for a whole root file system */
extern int is_in_environment;             /* 0 when this library lies in no slim environment */

/* Find the place from the path by which this library was loaded, and from the variables. */
void find_environment(const char *library, char **variables);

/* The value of a variable at the start of the process; NULL without one or an empty one. */
const char *variable(char **variables, const char *name);

/* Whether this process sees the environment at its path; it does not in a chroot. */
int sees_environment(void);

/* The device of the environment, for a process that sees it. */
uint64_t environment_device(void);

/* The path of the overlay, which is made if needed; ends the program if that is not possible.
 * Whether it exists. */
const char *overlay_root(void);
int may_have_overlay(void);

/* Whether it is known, so that an open folder or the working directory may be in it. */
GENERAL int has_overlay(void);

/* The relative path in the environment of a path without links: in it, or in its overlay, according
 * to `in_overlay`; NULL for any other. */
GENERAL const char *path_below(const char *path, int *in_overlay);

/* Write the full path for a relative path in the environment; returns 0 if it is too long. */
int path_of(char to[PATH_BYTES], int in_overlay, const char *below);

/* A folder of the user's own for files that cannot be written to the environment: its name; and
 * whether it exists, made if needed, and nobody else may change it. */
void name_own_folder(char to[PATH_BYTES]);
int has_own_folder(void);
int may_write_environment(void);

/* The store that replaces the index's, or ""; and the folder for fetched objects. */
extern char chosen_store[PATH_BYTES];
const char *cache_folder(void);
/* Whether nobody else may write in that folder, which is made if it is missing. A folder given by
 * the user may be root's, or a link. If others may write in the environment, they can run any code
 * anyway, and its folder is accepted. */
int is_own_cache(const char *folder);

#endif
