/* The start of a program: variables to find libraries in the overlay and to load this library, and
 * the interpreter of a script, if either is in the overlay. */
#ifndef TRIMTAB_PROGRAM_H
#define TRIMTAB_PROGRAM_H

#include "walk.h"

#define OWN_LIBRARY "trimtab/libtrimtab-file-fallback.so"

enum { VARIABLE_BYTES = 4 * PATH_BYTES, HEAD_BYTES = 256 };

struct start {
  int is_known;            /* whether all could be read and found out */
  size_t words, variables; /* how many */
  char preload[VARIABLE_BYTES], libraries[VARIABLE_BYTES]; /* whole variables; "" if unchanged */
  int no_preload;                                          /* LD_PRELOAD has to be left out */
  char interpreter[PATH_BYTES];                            /* "" if the kernel finds it itself */
  char word[HEAD_BYTES], argument[HEAD_BYTES]; /* from the script, and the word after it */
  int by_init; /* the program of init.h starts it, as this library does not see its calls */
};

/* Find out whether the environment has a program that starts others. */
void find_init(void);

/* Whether each started program has to be checked. In a whole root, the linker's own configuration
 * makes all load this library; the check is for those that do not. */
GENERAL int looks_after_children(void);

/* Clear everything of an earlier start except texts. */
GENERAL void forget_start(struct start *start);

/* Find out how to start `path` in the open folder `folder`; restore what it needs. */
void prepare_start(struct start *start, struct walk *walk, long folder, const char *path, int flags,
                   char *const *words, char *const *variables);

/* Lay out words and variables for it in `room`, of the size from `start_bytes`. Changes those of
 * `path`, `words` and `variables` that need it; a script gets the name `called`. */
GENERAL size_t start_bytes(const struct start *start, const char *path, const char *called);
GENERAL void lay_out(const struct start *start, uint8_t *room, const char *called, const char **path,
                     char *const **words, char *const **variables);

#endif
