/* The program native/file_init, by which what a root lost comes back to programs that this library is not
 * loaded into. All that runs below it is served by it. */
#ifndef TRIMTAB_INIT_H
#define TRIMTAB_INIT_H

#include <asm/unistd_64.h>

#include "system.h"

#define INIT_PROGRAM "trimtab/init"

/* Before the name that a program is told it is called by, and its path, which is not looked for. */
#define INIT_CALLED "--called"

/* An option that prctl(2) does not have. The filter of the init answers it with 0. */
enum { ASK_FOR_INIT = 0x54524d54 };

static inline GENERAL int is_below_init(void) { return !KERNEL(__NR_prctl, ASK_FOR_INIT, 0, 0, 0); }

#endif
