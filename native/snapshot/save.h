/* Writing a snapshot of this process. */
#ifndef TRIMTAB_SNAPSHOT_SAVE_H
#define TRIMTAB_SNAPSHOT_SAVE_H

#include "image.h"

/* Write this process, which has one thread. Returns NULL if that went well, or the reason; and once
 * more in each process that goes on from the snapshot, with `new_stack` the stack that the kernel
 * gave it: the number of arguments, arguments, variables. NULL in the process that saves. */
const char *save_process(const char *path, long **new_stack);

/* Whether it has memory that its forked children lack. */
int has_unforked(void);

#endif
