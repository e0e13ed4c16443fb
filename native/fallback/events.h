/* What is known of calls into removed code: the record, and the message to people. */
#ifndef TRIMTAB_EVENTS_H
#define TRIMTAB_EVENTS_H

#include "removed_call.h"

void start_events(void);

/* Record a call and do what the behaviour asks for. The lock is held. */
void note_call(const struct removed_call *call);

/* A forked child begins anew. */
void forget_calls(void);

#endif
