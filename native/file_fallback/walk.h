/* The way of a path, as the kernel goes it, through what is there and what was removed. */
#ifndef TRIMTAB_WALK_H
#define TRIMTAB_WALK_H

#include "place.h"

/* Where a way ended. */
struct walk {
  char here[PATH_BYTES]; /* without links; of what lies in the overlay its place in the environment */
  char rest[PATH_BYTES], work[PATH_BYTES], spelled[PATH_BYTES];
  int in_overlay; /* `here` itself */
  int came_back; /* whether anything did, or was answered from the overlay */
  int detour;    /* whether anything on the way lies in the overlay */
  int alone;     /* whether other names of a file that comes back are left to others */
  int looks;     /* whether what is at the end is only looked at */
  int refused;   /* errno: why something had to come back in the overlay; 0 for nothing */
  struct entry entry; /* the last one that was looked up on the way */
  int stood_for;      /* whether something stands for it at `here` */
  int told;           /* whether nothing could be made to stand for it */
};

/* Have nothing of an earlier way in it but texts. */
GENERAL void forget_walk(struct walk *walk);

/* Go along a path from the open folder `folder` and bring back what is missing on the way. Returns 0 where it
 * leads to nothing, or ends in what the kernel has to say more about. Without `follow` a link at the
 * end is not followed; with `looks` a file there may be stood for. */
int walk_along(struct walk *walk, long folder, const char *path, int follow);

/* Whether nothing is at a path from the open folder `folder` and nothing was removed there, by one system call,
 * or two if it is relative: no link is on its way, so that the place where it ends is the one it says, and the
 * index has nothing there. 0 where that takes a whole way to tell. */
GENERAL int has_nothing_removed(long folder, const char *path);

/* Write the path of an open folder, or of the working directory; its length, or why not. */
GENERAL long name_of_folder(long folder, char *to, size_t bytes);

/* The same where /proc is not mounted, with "" for the top; 0 where it has none. */
int path_of_folder(long folder, char to[PATH_BYTES]);

/* The bytes of a relative path up to its last `..` that leads out of the folder where it begins, or out of
 * one that this led to; 0 where none does. */
GENERAL size_t way_up(const char *path);

/* Write the path without links; 0 where it leads to nothing. Nothing comes back. */
int real_path(const char *path, char to[PATH_BYTES]);

#endif
