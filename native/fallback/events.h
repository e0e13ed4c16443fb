/* The handling of misses: the record, the message to the user, and the hook at a process's end. */
#ifndef TRIMTAB_EVENTS_H
#define TRIMTAB_EVENTS_H

#include <stddef.h>

#include "put_back.h"

void start_events(void);

/* Write the line of a miss, as the record has it; "" if it does not fit. */
void line_of_miss(char *to, size_t to_bytes, const struct miss *miss);

/* Record a miss, and return whether it ends the process. The lock is held. */
int note_miss(const struct miss *miss);

/* End the process for that miss. The lock must not be held: the C++ library demangles names and
 * waits for locks, whose owners may be about to wait for ours. */
__attribute__((noreturn)) void refuse(void);

/* A forked child starts without misses. */
void forget_misses(void);

#endif
