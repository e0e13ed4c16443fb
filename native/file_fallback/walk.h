/* Resolve a path as the kernel does, through existing and removed entries. */
#ifndef TRIMTAB_WALK_H
#define TRIMTAB_WALK_H

#include "place.h"

/* The end of a resolution. */
struct walk {
  char here[PATH_BYTES]; /* without links; for the overlay, the place in the environment */
  char rest[PATH_BYTES], work[PATH_BYTES], spelled[PATH_BYTES];
  int in_overlay; /* `here` itself */
  int came_back; /* whether anything was restored, or was answered from the overlay */
  int detour;    /* whether anything on the way is in the overlay */
  int alone;     /* whether restoring the other names of a file is left to others */
  int looks;     /* whether the entry at the end is only looked up */
  int refused;   /* errno: why something had to be restored in the overlay; 0 for nothing */
  struct entry entry; /* the last entry that was looked up on the way */
  int stood_for;      /* whether it has a stand-in at `here` */
  int told;           /* whether no stand-in could be made */
};

/* Clear everything of an earlier walk except texts. */
GENERAL void forget_walk(struct walk *walk);

/* Resolve a path from the open folder `folder` and restore missing entries on the way. Returns 0 if
 * it leads to nothing, or to an error that the kernel has to report. Without `follow` a link at the
 * end is not followed; with `looks` a file there may get a stand-in. */
int walk_along(struct walk *walk, long folder, const char *path, int follow);

/* Whether a path begins at the top and has a name between all slashes, other than `.` and `..`. */
GENERAL int is_spelled_plainly(const char *path);

/* Whether nothing is at a path from the open folder `folder`, and nothing was removed there, by one
 * system call, or two for a relative path. No link is on its way, so it ends at the place it names,
 * and the index has nothing there. 0 if only a full walk can tell. */
GENERAL int has_nothing_removed(long folder, const char *path);

/* Write the path of an open folder, or of the working directory; returns its length, or the
 * error. */
GENERAL long name_of_folder(long folder, char *to, size_t bytes);

/* The same if /proc is not mounted, with "" for the top; returns 0 if it has no path. */
int path_of_folder(long folder, char to[PATH_BYTES]);

/* The bytes of a relative path up to its last `..` that leads out of the folder where it begins, or
 * out of a parent reached so; 0 if none does. */
GENERAL size_t way_up(const char *path);

/* Write the path without links; returns 0 if it leads to nothing. Restores nothing. */
int real_path(const char *path, char to[PATH_BYTES]);

#endif
