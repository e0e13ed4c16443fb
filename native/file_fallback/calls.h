/* The system calls that name files. */
#ifndef TRIMTAB_CALLS_H
#define TRIMTAB_CALLS_H

#include <stdint.h>

#include "system.h"

/* A path among the arguments of a call; where the folder it begins in is given, -1 for none. */
struct named {
  int8_t path, folder;
};

enum {
  NOT_FOLLOWED = 1, /* a link at the end of the path is meant itself */
  MAKES = 2,        /* fails where the last path is taken: what was removed has to be there first */
  EXECUTES = 4,
  REMOVES = 8, /* changes the folder that the first path lies in */
  LOOKS = 16   /* asks nothing of the contents: a stand-in of the file answers as well */
};

struct call {
  uint16_t number;
  uint8_t behaviour;
  struct named first, second; /* -1 where there is none */
  int8_t flags;               /* the argument with flags; -1 without */
  uint32_t unless_followed;   /* the flag by which a link is not followed */
};

/* NULL for a call that names no file. */
GENERAL const struct call *call_of(long number);

#endif
