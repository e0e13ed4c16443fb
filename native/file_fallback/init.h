/* The program native/file_init restores removed files of a root for programs that do not load this
 * library. It serves all its descendants. */
#ifndef TRIMTAB_INIT_H
#define TRIMTAB_INIT_H

#include <asm/unistd_64.h>

#include "system.h"

#define INIT_PROGRAM "trimtab/init"

/* Comes before the name that a program gets as its own, and its path, which is used as it is. */
#define INIT_CALLED "--called"

/* An option that prctl(2) does not have; the init's filter answers it with 0. */
enum { ASK_FOR_INIT = 0x54524d54 };

static inline GENERAL int is_below_init(void) { return !kernel(__NR_prctl, ASK_FOR_INIT, 0, 0, 0, 0, 0); }

#endif
