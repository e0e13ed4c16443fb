/* What is known of misses: the record, the message to people, and the hook at a process's end. */
#ifndef TRIMTAB_EVENTS_H
#define TRIMTAB_EVENTS_H

#include "put_back.h"

void start_events(void);

/* Record a miss and do what the behaviour asks for. The lock is held. */
void note_miss(const struct miss *miss);

/* A forked child begins anew. */
void forget_misses(void);

#endif
