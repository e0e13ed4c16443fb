/* What a program is started with: variables by which it finds libraries that came back in the overlay,
 * and by which it loads this library; and the interpreter of a script, where either is in the overlay. */
#ifndef TRIMTAB_PROGRAM_H
#define TRIMTAB_PROGRAM_H

#include "walk.h"

#define OWN_LIBRARY "trimtab/libtrimtab-file-fallback.so"

enum { VARIABLE_BYTES = 4 * PATH_BYTES, HEAD_BYTES = 256 };

struct start {
  int is_known;            /* whether its words and variables can be read, and the rest was found out */
  size_t words, variables; /* how many */
  char preload[VARIABLE_BYTES], libraries[VARIABLE_BYTES]; /* whole variables; "" for as they are */
  int no_preload;                                          /* LD_PRELOAD is to be left out */
  char interpreter[PATH_BYTES];                            /* "" where the kernel finds it itself */
  char word[HEAD_BYTES], argument[HEAD_BYTES]; /* as the script names it, and the word behind it */
  int by_init; /* the program of init.h starts it, as this library does not hear its calls */
};

/* Learn whether the environment has a program that starts others. */
void find_init(void);

/* Whether each program that is started needs a look: in a whole root, the linker's own configuration
 * has all of them load this library, and it is for those that do not. */
GENERAL int looks_after_children(void);

/* Have nothing of an earlier start in it but texts. */
GENERAL void forget_start(struct start *start);

/* Find out what `path` in the open folder `folder` is to be started with; bring back what it needs. */
void prepare_start(struct start *start, struct walk *walk, long folder, const char *path, int flags,
                   char *const *words, char *const *variables);

/* Lay out words and variables for it in `room`, of as many bytes as `start_bytes` says. Changes what of
 * `path`, `words` and `variables` has to be another; a script is told that it is `called`. */
GENERAL size_t start_bytes(const struct start *start, const char *path, const char *called);
GENERAL void lay_out(const struct start *start, uint8_t *room, const char *called, const char **path,
                     char *const **words, char *const **variables);

#endif
