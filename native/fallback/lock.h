/* One thread at a time, with all signals blocked. */
#ifndef TRIMTAB_LOCK_H
#define TRIMTAB_LOCK_H

#include <signal.h>

void take_lock(sigset_t *before);
void release_lock(const sigset_t *before);

#endif
