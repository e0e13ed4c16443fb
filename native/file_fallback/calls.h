/* The system calls with names of files. */
#ifndef TRIMTAB_CALLS_H
#define TRIMTAB_CALLS_H

#include <stdint.h>

#include "system.h"

/* A path in the arguments of a call, and the argument with its folder, -1 for none. */
struct named {
  int8_t path, folder;
};

enum {
  NOT_FOLLOWED = 1, /* a link at the end of the path is meant itself */
  MAKES = 2,        /* fails if the last path exists: a removed file has to be restored first */
  EXECUTES = 4,
  REMOVES = 8, /* changes the folder of the first path */
  LOOKS = 16   /* does not need the contents: a stand-in is enough */
};

struct call {
  uint16_t number;
  uint8_t behaviour;
  struct named first, second; /* -1 if there is none */
  int8_t flags;               /* the argument with flags; -1 without */
  uint32_t unless_followed;   /* the flag with which links are not followed */
};

/* NULL for a call without a name of a file. */
GENERAL const struct call *call_of(long number);

#endif
