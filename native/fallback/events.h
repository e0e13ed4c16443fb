/* What is known of misses: the record, the message to people, and the hook at a process's end. */
#ifndef TRIMTAB_EVENTS_H
#define TRIMTAB_EVENTS_H

#include "put_back.h"

void start_events(void);

/* Record a miss, and return whether it ends the process. The lock is held. */
int note_miss(const struct miss *miss);

/* End the process for that miss. The lock is not held: names are made readable by the C++ library,
 * which waits for locks of others that may be about to come for ours. */
__attribute__((noreturn)) void refuse(void);

/* A forked child begins anew. */
void forget_misses(void);

#endif
